"""Level 1: time, memory and events of parts, whoever wrote them."""

import itertools

import numpy as np
import pytest
import torch
from lenet import lenet
from torch import nn

from ddl_measure.levels.events import Events
from ddl_measure.levels.networks import Part, as_one, measure_network
from ddl_measure.levels.torch_parts import torch_part, torch_parts

WIDTH, ROWS = 256, 128


def dense(name, seed):
    """A learner's layer in NumPy."""
    weight = np.random.default_rng(seed).standard_normal((WIDTH, WIDTH))
    gradients = []

    def backward(x, towards):
        gradients[:] = [x.T @ towards]
        return towards @ weight.T

    return Part(name, lambda x: x @ weight, backward)


def ticking():
    """A clock that moves by a second at every look."""
    looks = itertools.count()
    return lambda: float(next(looks))


def test_a_network_of_arrays_and_what_its_parts_hold():
    parts, x = [dense("first", 0), dense("second", 1)], np.ones((ROWS, WIDTH))
    found = measure_network(parts, x, np.ones_like, repetitions=3, clock=ticking())
    assert [part.name for part in found.parts] == ["first", "second"]
    for part in found.parts:
        assert part.forward.times == part.backward.times == (1, 1, 1)
        assert 0 <= part.forward_bytes - x.nbytes < 4096
        assert 0 <= part.backward_bytes - x.nbytes - WIDTH * WIDTH * 8 < 4096
    assert found.forward.times == found.backward.times == (5, 5, 5)  # looks inside of it


def test_torchs_parts_give_the_gradients_that_torch_gives():
    network = lenet()
    parts = torch_parts(network)
    x = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    whole = as_one("lenet", parts)
    result = whole.forward(x)
    gradient = whole.backward(x, torch.ones_like(result))
    own = {name: weight.grad.clone() for name, weight in network.named_parameters()}
    network.zero_grad()
    leaf = x.clone().requires_grad_()
    output = network(leaf)
    output.sum().backward()
    assert torch.equal(result, output)
    assert torch.allclose(gradient, leaf.grad, atol=1e-6)
    for name, weight in network.named_parameters():
        assert torch.allclose(own[name], weight.grad, atol=1e-5), name


def test_torchs_memory_is_counted_part_by_part():
    parts = torch_parts(nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.ReLU()))
    x = torch.randn(ROWS, WIDTH)
    found = measure_network(parts, x, torch.ones_like, repetitions=2)
    rows, weights = ROWS * WIDTH * 4, WIDTH * WIDTH * 4
    linear, relu = found.parts
    room = 16384  # Python's own objects
    for held, wanted in (
        (linear.forward_bytes, rows), (relu.forward_bytes, rows),
        (linear.backward_bytes, rows + weights), (relu.backward_bytes, rows),
    ):  # fmt: skip
        assert 0 <= held - wanted < room
    alone = measure_network(parts, x, repetitions=2)
    assert alone.backward is alone.parts[0].backward is alone.parts[0].backward_bytes is None


def test_whole_numbers_have_no_gradient_and_a_way_back_needs_a_way_there():
    part = torch_part("embedding", nn.Embedding(5, 3))
    towards = torch.ones_like(part.forward(torch.tensor([1, 2])))
    assert part.backward(torch.tensor([1, 2]), towards) is None
    with pytest.raises(RuntimeError, match="embedding: call forward before backward"):
        part.backward(torch.tensor([1, 2]), towards)


def test_events_are_timed_by_name_the_inner_ones_too():
    events = Events(clock=ticking())
    for _ in range(2):
        with events("outer"), events("inner"):
            pass
    assert events.seconds == {"inner": [1, 1], "outer": [3, 3]}


def test_what_cannot_be_measured_is_refused():
    one = dense("one", 0)
    x = np.ones((1, WIDTH))
    with pytest.raises(ValueError, match="parts with different names"):
        measure_network([one, one], x)
    with pytest.raises(ValueError, match=r"\['only there'\] cannot go backward"):
        measure_network([Part("only there", np.abs)], x, np.ones_like)
    with pytest.raises(TypeError, match="not Linear"):
        torch_parts(nn.Linear(2, 2))
