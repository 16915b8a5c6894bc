"""Factors in place of gradients: one process's weights on any number of ranks, and their bytes."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.networks import twin
from ddl_teach.networks.data_parallel.shared_weights import SharedWeights
from ddl_teach.networks.data_parallel.sufficient_factors import (
    FactoredLinear,
    SufficientFactors,
    factored,
)
from ddl_teach.networks.data_parallel.train_replicas import train
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.twin import copies, largest_difference
from ddl_teach.theory import ring_bytes
from ddl_teach.theory.data_parallel import bytes_sent

ONE_NODE = TwoLevel(ranks_per_node=8)
SIZES = (40, 48, 41, 3)  # the last layer has so few outputs that its gradient is shorter
ROWS, STEPS = {1: 24, 2: 12, 3: 8, 4: 6, 5: 5, 8: 3}, 6  # of the largest part of a batch
NETWORKS = {
    "mlp": lambda: mlp(SIZES),
    "gpt": lambda: gpt(vocabulary=9, width=64, heads=2, blocks=1, length=4, tied=True),
}


def data(name, dtype):
    """Batches that few rank counts divide; in one, some ranks have no sample."""
    drawn = torch.Generator().manual_seed(3)
    made = []
    for size in (24, 23, 24, 2, 24, 24):
        if name == "gpt":
            words = torch.randint(0, 9, (size, 5), generator=drawn)
            made.append((words[:, :-1], words[:, 1:]))
        else:
            x = torch.randn(size, SIZES[0], generator=drawn, dtype=torch.float64).to(dtype)
            made.append((x, torch.randint(0, SIZES[-1], (size,), generator=drawn)))
    return made


def ended(comm, name, dtype, pieces, in_memory):
    """The whole network's parameters after training, the losses, and the bytes that were sent."""
    network = NETWORKS[name]().to(dtype)
    rows = ROWS[comm.size] * (4 if name == "gpt" else 1)
    way = (SharedWeights if in_memory else SufficientFactors)(comm, network, rows)
    before = comm.ledger.bytes_sent
    model = way if in_memory else network
    losses = train(comm, model, data(name, dtype), way.backward, pieces=pieces).losses
    sent = comm.ledger.bytes_sent - before
    whole = way.module if in_memory else network
    return copies(whole.named_parameters()), losses, sent


def wanted_bytes(ranks, rank, in_memory, itemsize):
    """Of the multi-layer perceptron: both long layers in factors, the last in a bucket."""
    pairs = [(SIZES[0], SIZES[1]), (SIZES[1], SIZES[2])]
    factors = sum((ranks - 1) * ROWS[ranks] * (m + n) * itemsize for m, n in pairs)
    bucket = bytes_sent([SIZES[2] * SIZES[3] + SIZES[3]], ranks, rank, itemsize)
    at_the_end = ring_bytes.allreduce(STEPS, ranks, rank, 8)
    return STEPS * ((0 if in_memory else factors) + bucket) + at_the_end


def check(run, name, dtype, in_memory):
    right = twin.train(NETWORKS[name]().to(dtype), data(name, dtype))
    close = 1e-10 if dtype is torch.float64 else 2e-5
    for rank, (parameters, losses, sent) in enumerate(run.results):
        assert largest_difference(parameters, right.parameters) < close
        torch.testing.assert_close(losses, right.losses, rtol=0, atol=close)
        if name == "mlp":
            assert sent == wanted_bytes(len(run.results), rank, in_memory, dtype.itemsize)


CASES = [("mlp", torch.float64, 1), ("mlp", torch.float32, 1), ("mlp", torch.float64, 2)]


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("ranks", ROWS)
@pytest.mark.parametrize(("name", "dtype", "pieces"), [*CASES, ("gpt", torch.float64, 1)])
def test_factors_train_as_one_process_on_simulated_ranks(name, dtype, pieces, ranks, in_memory):
    given = {"name": name, "dtype": dtype, "pieces": pieces, "in_memory": in_memory}
    run = simulate(ended, ranks, network=ONE_NODE, threads=True, **given)
    check(run, name, dtype, in_memory)


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize(
    "ranks", [3, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (1, 2, 4, 5, 8))]
)
def test_factors_train_as_one_process_on_real_ranks(real, ranks, in_memory):
    given = {"name": "mlp", "dtype": torch.float64, "pieces": 2, "in_memory": in_memory}
    check(real(ended, ranks, **given), "mlp", torch.float64, in_memory)


def own_part_only(comm):
    """Where a rank ends that trains on its part alone."""
    network = NETWORKS["mlp"]().double()
    train(comm, network, data("mlp", torch.float64), lambda error: error.backward())
    return copies(network.named_parameters())


def test_without_factors_of_others_it_is_another_training():
    right = twin.train(NETWORKS["mlp"]().double(), data("mlp", torch.float64))
    own = simulate(own_part_only, 2, threads=True).results[0]
    assert largest_difference(own, right.parameters) > 1e-4


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_layers_travel_in_factors_where_these_are_fewer_numbers(ranks):
    """Of 256 x 256 weights, with K rows: P K (256 + 256) < 2 x 256 x 256."""
    last = 256 // ranks - 1

    def replaced(rows):
        network = nn.Sequential(nn.Linear(256, 256))
        factored(network, rows, ranks)
        return type(network[0]) is FactoredLinear

    assert (replaced(last), replaced(last + 1)) == (True, False)


def test_layers_under_two_names_keep_their_gradients():
    twice, alone = nn.Linear(64, 64), nn.Linear(64, 64)
    network = nn.Sequential(twice, nn.ReLU(), twice, alone, nn.Linear(64, 64, bias=False))
    made = factored(network, 2, 2)
    assert [type(layer) for layer in network] == [
        nn.Linear, nn.ReLU, nn.Linear, FactoredLinear, nn.Linear,
    ]  # fmt: skip
    assert made[0].weight is alone.weight


def two_passes(comm, in_memory):
    """Gradients of two backward passes without `zero_grad` between them, and torch's own."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    twin, x = deepcopy(network), torch.randn(2, 64)
    way = (SharedWeights if in_memory else SufficientFactors)(comm, network, 2)
    for _ in range(2):
        way.backward(network(x).sum())
        twin(x).sum().backward()
    model = way if in_memory else network
    return [[p.grad for p in both.parameters()] for both in (model, twin)]


@pytest.mark.parametrize("in_memory", [False, True])
def test_gradients_add_up_until_they_are_set_to_zero(in_memory):
    own, torchs = simulate(two_passes, 1, threads=True, in_memory=in_memory).results[0]
    torch.testing.assert_close(own, torchs)


@pytest.mark.parametrize("which", ["x", "weight"])
def test_what_was_changed_before_the_backward_pass_is_refused(which):
    network = nn.Sequential(nn.Linear(64, 64))
    factored(network, 2, 1)
    x = torch.randn(2, 64)
    error = network(x).sum()
    changed = {"x": x, "weight": network[0].weight.detach()}[which]
    changed.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        error.backward()


def test_one_sample_without_an_axis_for_it_is_a_row():
    network = nn.Sequential(nn.Linear(64, 64))
    (layer,) = factored(network, 2, 1)
    network(torch.ones(64)).sum().backward()
    assert [part.shape for part in layer.kept[0]] == [(1, 64), (1, 64)]


def in_turns(comm):
    way = SharedWeights(comm, nn.Sequential(nn.Linear(64, 64), nn.Dropout()), 2)
    return way.eval().module.training, way.train().module.training


def test_shared_weights_pass_on_whether_they_train():
    assert simulate(in_turns, 1, threads=True).results[0] == (False, True)


def too_many(comm, in_memory):
    network = nn.Sequential(nn.Linear(64, 64))
    way = (SharedWeights if in_memory else SufficientFactors)(comm, network, 4)
    x = torch.randn(5, 64)
    with pytest.raises(ValueError, match="5 rows of factors, and 4 fit: set rows"):
        way.backward(network(x).sum())
    way.backward(network(x[:4]).sum())  # nothing of the first pass is left
    model = way if in_memory else network
    return [parameter.grad.sum().item() for parameter in model.parameters()], x[:4]


@pytest.mark.parametrize("in_memory", [False, True])
def test_more_rows_than_fit_are_refused_and_leave_nothing(in_memory):
    (weight, bias), x = simulate(too_many, 1, threads=True, in_memory=in_memory).results[0]
    assert weight == pytest.approx(64 * x.sum().item(), rel=1e-3, abs=1e-3)
    assert bias == pytest.approx(64 * 4)


def one_step(comm):
    """Weights before and after a step of rate 1, and how many parameters this rank updates."""
    network = nn.Sequential(nn.Linear(64, 64))
    way = SharedWeights(comm, network, 4)
    before = copies(way.module.named_parameters())
    way.backward(way(torch.ones(4, 64) * (comm.rank + 1)).sum())
    for parameter in way.parameters():
        parameter.detach().sub_(parameter.grad)
    return before, copies(way.module.named_parameters()), len(list(way.parameters()))


def test_each_rank_updates_its_own_outputs_of_one_copy():
    results = simulate(one_step, 2, network=ONE_NODE, threads=True).results
    for before, after, count in results:
        assert count == 2
        # The average over both ranks of 4 rows of ones or twos.
        torch.testing.assert_close(
            before["0.weight"] - after["0.weight"], torch.full((64, 64), 6.0)
        )
