"""Layers on ranks: the same numbers on any number of ranks, in the time that the formula says."""

import dataclasses
import itertools
import math

import pytest
import torch

from ddl_measure.experiments import recurrence as timing
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_teach import simulate
from ddl_teach.operators.recurrence import layer_by_layer, on_ranks
from ddl_teach.operators.recurrence.cell import Weights
from ddl_teach.operators.recurrence.stack import Stack
from ddl_teach.theory import wavefront as theory
from ddl_teach.theory.machine import Link

RANKS = (1, 2, 3, 4, 5, 8)
LAYERS, STEPS = 6, 7


@pytest.fixture(scope="module", params=(torch.nn.RNN, torch.nn.GRU, torch.nn.LSTM))
def task(request):
    """A network with data, and what one rank alone computes."""
    torch.manual_seed(1)
    module = request.param(5, 4, LAYERS).double().requires_grad_(False)
    own = Stack.of(module)
    x, of_outputs = torch.randn(STEPS, 2, 5).double(), torch.randn(STEPS, 2, 4).double()
    outputs, _, tapes = layer_by_layer.forward(own, x)
    of_x, _, of_weights = layer_by_layer.gradients(own, tapes, of_outputs)
    return {"stack": own, "x": x, "of_outputs": of_outputs}, (outputs, of_x, of_weights)


def train(comm, stack, x, of_outputs, chunk):
    outputs, share = on_ranks.forward(comm, stack, x, chunk=chunk)
    return outputs, *on_ranks.gradients(comm, share, of_outputs)


def assert_same(results, wanted):
    outputs, of_x, of_weights = wanted
    owners = [part for part in results if part[2]]
    assert [part[0] is None for part in owners] == [True] * (len(owners) - 1) + [False]
    assert [part[1] is None for part in owners] == [False] + [True] * (len(owners) - 1)
    torch.testing.assert_close(owners[-1][0], outputs, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(owners[0][1], of_x, rtol=1e-10, atol=1e-10)
    found = [weights for part in owners for weights in part[2]]
    for one, other in zip(found, of_weights, strict=True):
        for field in dataclasses.fields(Weights):
            pair = getattr(one, field.name), getattr(other, field.name)
            torch.testing.assert_close(*pair, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_simulated_ranks_compute_what_one_computes(task, ranks):
    given, wanted = task
    for chunk in (1, 2, 3, STEPS, STEPS + 1):
        assert_same(simulate(train, ranks, chunk=chunk, **given).results, wanted)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_real_ranks_do_too_and_show_when(task, ranks, real):
    given, wanted = task
    run = real(train, ranks, chunk=2, **given)
    assert_same(run.results, wanted)
    owners = min(ranks, LAYERS)
    chunks = -(-STEPS // 2)
    sent = [ledger.messages_sent for ledger in run.ledger]
    assert sum(sent) == 2 * chunks * (owners - 1)
    works = [[span for span in own if span.kind == "work"] for own in run.timeline.spans]
    assert [len(own) for own in works] == [2 * chunks] * owners + [0] * (ranks - owners)


def simulated(layers, steps, ranks, chunk, network, flops=2e4, nbytes=400):
    run = simulate(
        on_ranks.only_time, ranks, network=network, machine=Machine(flops=1e10), trace=False,
        layers=layers, steps=steps, flops=flops, nbytes=nbytes, chunk=chunk,
    )  # fmt: skip
    return run.time


NETWORKS = (
    Uniform(latency=0.0, bandwidth=1e300),
    Uniform(latency=1e-6, bandwidth=1e9),
    Uniform(latency=3e-6, bandwidth=1e6),
    Uniform(latency=1e-6, bandwidth=1e9, overhead=2e-6),
)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
@pytest.mark.sampled(2)
def test_the_formula_is_the_simulated_time(network):
    costs = {"cell": 2e-6, "nbytes": 400, "link": Link.of(network)}
    shapes = itertools.product((1, 3, 8, 10), (1, 6, 12), (*RANKS, 16), (1, 2, 3, 5, 6, 99))
    for layers, steps, ranks, chunk in shapes:
        took = simulated(layers, steps, ranks, chunk, network)
        formula = theory.time(layers, steps, ranks, chunk=chunk, **costs)
        if steps % min(chunk, steps) == 0:
            assert took == pytest.approx(formula, rel=1e-12, abs=0)
        else:
            assert took <= formula * (1 + 1e-12)


@pytest.mark.parametrize(("layers", "steps"), [(1, 1), (4, 9), (9, 4), (40, 25)])
def test_a_rank_for_each_layer_and_a_free_network_take_one_cell_a_wavefront(layers, steps):
    took = simulated(layers, steps, layers, 1, NETWORKS[0])
    assert took == pytest.approx(theory.wavefronts(layers, steps) * 2e-6)


@pytest.mark.parametrize("ranks", [2, 3, 4, 6])
def test_the_best_chunk_is_the_best(ranks):
    network = Uniform(latency=1e-6, bandwidth=1e300, overhead=20e-6)
    steps, overhead = 720, 20e-6 * (2 if ranks > 2 else 1)  # of two ranks each pays it once
    best = math.sqrt(overhead * steps / ((ranks - 1) * 12 * 2e-6 / ranks))
    chunks = [chunk for chunk in range(1, steps + 1) if steps % chunk == 0]
    times = [simulated(12, steps, ranks, chunk, network) for chunk in chunks]
    place = times.index(min(times))
    assert chunks[place - 1] < best < chunks[place + 1]


@pytest.mark.parametrize("chunk", [0, -1, 1.5])
def test_a_chunk_that_cannot_be_is_refused(chunk):
    with pytest.raises((ValueError, TypeError), match="chunk"):
        on_ranks.chunks_of(5, chunk)


def test_the_layer_by_hand_is_the_stack_of_simple_cells():
    torch.manual_seed(2)
    module = torch.nn.RNN(3, 3, 4).double().requires_grad_(False)
    for weights in module.all_weights:
        weights[2].zero_()
        weights[3].zero_()
    x = torch.randn(5, 2, 3).double()

    def program(comm):
        w, u, *_ = (weights.numpy().T for weights in module.all_weights[comm.rank])
        given = x.numpy().copy() if comm.rank == 0 else 0 * x.numpy()
        return on_ranks.simple_layer(comm, given, w, u, 1.0)

    run = simulate(program, 4, network=NETWORKS[0])
    torch.testing.assert_close(torch.from_numpy(run.results[-1]), module(x)[0])
    assert run.time == pytest.approx(theory.wavefronts(4, 5))


def test_what_is_measured_on_real_ranks_has_a_line_and_every_chunk(real):
    square = Stack.of(torch.nn.LSTM(4, 4, 5).requires_grad_(False))
    given = {"stack": square, "x": torch.randn(8, 2, 4), "chunks": [1, 2, 4, 8], "turns": 3}
    parts = real(timing.parts, 2, **given).results
    step, overhead = timing.step_and_overhead(parts, given["chunks"])
    assert step >= 0
    assert step + overhead > 0
    for took in real(timing.passes, 2, **given).results:
        assert took.shape == (3, 4)
        assert (took > 0).all()
