"""Weights come from names, batches from a seed, and the twin's optimizer is torch's."""

import math
from collections.abc import Iterator
from functools import partial

import pytest
import torch
from lenet import lenet
from torch import nn

from ddl_teach.networks import twin
from ddl_teach.networks.models import data
from ddl_teach.networks.models.alexnet import alexnet
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.models.resnet import Residual, resnet
from ddl_teach.networks.models.seeds import seeded

BUILDERS = (mlp, lenet, alexnet, resnet, gpt)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Beside other tests the threads of small layers mostly wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("build", BUILDERS)
def test_weights_come_from_name_shape_and_seed_alone(build):
    torch.manual_seed(1)
    one = build().double()
    torch.manual_seed(2)
    again, other = build().double(), build(seed=1).double()
    assert (
        twin.largest_difference(dict(again.named_parameters()), dict(one.named_parameters())) == 0
    )
    for name, weights in one.named_parameters():
        assert torch.equal(weights, seeded(name, tuple(weights.shape)).float().double())
        if weights.dim() > 1:
            assert not torch.equal(weights, other.get_parameter(name))
    # Any stretch of children keeps names, and thereby weights.
    for name, weights in one[1:3].named_parameters():
        assert weights is one.get_parameter(name)


@pytest.mark.parametrize("build", BUILDERS)
def test_every_network_learns_its_data(build):
    pieces = data.characters() if build is gpt else data.digits(flat=build is mlp)
    trained = twin.train(build(), data.batches(pieces, 32, 60))
    assert trained.losses[-1] < trained.losses[0]
    assert trained.losses[0] == pytest.approx(math.log(100 if build is gpt else 10), abs=3.5)


@pytest.mark.parametrize("build", [lenet, alexnet, resnet])
def test_an_image_gets_a_score_for_each_of_ten_classes(build):
    assert build()(torch.rand(3, 1, 8, 8)).shape == (3, 10)


def test_a_position_sees_none_after_it():
    network = gpt().double()
    words = torch.arange(16)[None]
    changed = words.clone()
    changed[0, 9] = 50
    before, after = network(words), network(changed)
    assert torch.equal(before[:, :9], after[:, :9])
    assert not torch.isclose(before[:, 9:], after[:, 9:]).all(dim=2).any()


def test_batches_are_every_sample_once_a_pass_and_the_same_again():
    numbers = torch.arange(10)
    made = data.batches((numbers, numbers), 4, 6, seed=3)
    assert [len(inputs) for inputs, _ in made] == [4, 4, 2] * 2
    for third in (made[:3], made[3:]):
        assert sorted(torch.cat([inputs for inputs, _ in third]).tolist()) == list(range(10))
    again = data.batches((numbers, numbers), 4, 6, seed=3)
    pairs = zip(made, again, strict=True)
    assert all(torch.equal(one[0], other[0]) for one, other in pairs)
    assert not torch.equal(made[0][0], made[3][0])
    with pytest.raises(ValueError, match="size must be at least 1, not 0"):
        data.batches((numbers, numbers), 0, 1)


def test_the_twins_steps_are_those_of_torch():
    batches = data.batches(data.digits(flat=True), 16, 10)
    sgd = partial(torch.optim.SGD, lr=0.1, momentum=0.9)
    ours = twin.train(mlp(), batches).parameters
    torchs = twin.train(mlp(), batches, optimizer=sgd).parameters
    assert twin.largest_difference(ours, torchs) < 1e-6


def test_a_difference_is_found_wherever_it_is():
    one = twin.copies(nn.Linear(3, 2).named_parameters())
    assert twin.largest_difference(one, one) == 0
    nan = {**one, "bias": torch.tensor([0.0, math.nan])}
    assert twin.largest_difference(nan, one) == math.inf
    with pytest.raises(ValueError, match=r"missing \['bias'\]"):
        twin.largest_difference({"weight": one["weight"]}, one)
    with pytest.raises(ValueError, match=r"weight has the shape \(1, 3\).*a rank's part"):
        twin.largest_difference({**one, "weight": one["weight"][:1]}, one)


@pytest.mark.parametrize("wrong", [{"rate": -1.0}, {"rate": math.nan}, {"momentum": 1.0}])
def test_a_step_that_climbs_or_never_forgets_is_refused(wrong):
    (name, value) = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"Descent: {name} must be .*, not {value}"):
        Descent([], **wrong)


def test_a_block_whose_correction_is_nothing_hands_its_input_on():
    block = Residual(4, 4, nn.BatchNorm2d).eval()
    nn.init.zeros_(block.correction[-1].weight)
    x = torch.rand(2, 4, 6, 6)
    assert torch.equal(block(x), x)
