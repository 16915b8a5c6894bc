"""Layers split in three dimensions train as the twin does, and send what the five terms say."""

from functools import cache
from itertools import pairwise

import pytest
import torch
import train_blocks
from deaf import Deaf
from torch import nn

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_teach import simulate
from ddl_teach.networks.models import data
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.tensor.product_3d import BlockLinear, product_axes, split_blocks
from ddl_teach.networks.twin import largest_difference
from ddl_teach.networks.twin import train as train_twin
from ddl_teach.theory.product_3d import ProductGrid, layer_bytes

SIZES, BATCH, STEPS = (64, 20, 12, 16, 10), 13, 4
CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5}
GRIDS = {
    1: [ProductGrid()],
    2: [ProductGrid(2), ProductGrid(1, 2), ProductGrid(1, 1, 2), ProductGrid(data=2)],
    3: [ProductGrid(3), ProductGrid(1, 3)],
    4: [ProductGrid(2, 2), ProductGrid(2, 1, 2), ProductGrid(1, 2, 1, 2)],
    5: [ProductGrid(1, 1, 5), ProductGrid(5)],
    8: [ProductGrid(2, 2, 2), ProductGrid(2, 1, 2, 2), ProductGrid(1, 4, 2)],
}


@cache
def batches(kind):
    images, labels = data.digits()
    return [(x.to(kind), y) for x, y in data.batches((images.flatten(1), labels), BATCH, STEPS)]


@cache
def twin(kind):
    return train_twin(mlp(SIZES).to(kind), batches(kind))


def trained(comm, grids, kind):
    """Of each grid: what training gives, heard and not heard, and the bytes of a step."""
    found = []
    for grid in grids:
        deaf = train_blocks.train(Deaf(comm, echo=False), mlp(SIZES).to(kind), batches(kind), grid)
        network, axes = mlp(SIZES).to(kind), product_axes(comm, grid)
        split_blocks(network, axes)
        own = batches(kind)[0][0][own_slice(BATCH, axes.data)]
        own = own[own_slice(len(own), axes.z), own_slice(SIZES[0], axes.y)]
        at_start = comm.ledger.bytes_sent
        network(own).sum().backward()
        step = comm.ledger.bytes_sent - at_start
        whole = train_blocks.train(comm, mlp(SIZES).to(kind), batches(kind), grid)
        found.append((whole, deaf, step))
    return found


def step_bytes(grid, rank, itemsize):
    place, sent = grid.place(rank), 0
    for number, (inputs, outputs) in enumerate(pairwise(SIZES)):
        sent += layer_bytes(
            grid, place, rows=BATCH, inputs=inputs, outputs=outputs, itemsize=itemsize,
            first=number == 0,
        ).total  # fmt: skip
        grid, place = grid.turned(), place.turned()
    return sent


def assert_as_the_twin(run, grids, kind):
    for rank, of_rank in enumerate(run.results):
        for grid, (whole, deaf, step) in zip(grids, of_rank, strict=True):
            assert largest_difference(whole.parameters, twin(kind).parameters) < CLOSE[kind], grid
            assert whole.losses == pytest.approx(twin(kind).losses, rel=CLOSE[kind])
            assert step == step_bytes(grid, rank, kind.itemsize), grid
            if grid.ranks > 1:
                apart = largest_difference(deaf.parameters, twin(kind).parameters)
                assert not apart < 1e-3, grid


@pytest.mark.parametrize("ranks", GRIDS)
@pytest.mark.sampled(3)
def test_real_ranks_train_as_the_twin_and_send_what_the_terms_say(ranks, real):
    given = {"grids": GRIDS[ranks], "kind": torch.float64}
    assert_as_the_twin(real(trained, ranks, timeout=600, **given), *given.values())


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "kind"), [(8, torch.float64), (4, torch.float32)])
@pytest.mark.sampled(2)
def test_simulated_ranks_do_too(ranks, kind):
    given = {"grids": GRIDS[ranks], "kind": kind}
    assert_as_the_twin(simulate(trained, ranks, threads=True, **given), *given.values())


@pytest.mark.parametrize(
    ("grid", "terms"),
    [
        (ProductGrid(z=4), ["weights", "gradients"]),
        (ProductGrid(x=4), ["inputs"]),
        (ProductGrid(y=4), ["outputs"]),
        (ProductGrid(data=4), ["average"]),
    ],
    ids=str,
)
def test_each_axis_pays_its_own_terms(grid, terms):
    sent = layer_bytes(grid, grid.place(0), rows=8, inputs=16, outputs=16, itemsize=4)
    assert [name for name, nbytes in vars(sent).items() if nbytes] == terms


def test_the_terms_are_those_of_the_docstring_where_everything_divides():
    grid = ProductGrid(2, 4, 2, 2)
    k, n, m = 64, 32, 8  # of one replica
    for rank in range(grid.ranks):
        place = grid.place(rank)
        sent = layer_bytes(grid, place, rows=2 * m, inputs=k - 4, outputs=n, itemsize=1)
        # A block has as many columns as k / Y, the bias among them.
        assert sent.weights == sent.gradients == k * n // 8 // 2
        assert sent.outputs == 2 * 3 * (m * n // 4) // 4
        assert sent.inputs == 2 * (m * (k - 4) // 8) // 2
        assert sent.average == 2 * (k * n // 16) // 2


def trained_on(comm, grid, batches, loss):
    return train_blocks.train(comm, mlp(SIZES).double(), batches, grid, loss=loss)


def test_ranks_without_a_sample_take_part():
    few = [(x[:3], y[:3]) for x, y in batches(torch.float64)]
    given = {"grid": ProductGrid(z=2, data=2), "batches": few, "loss": mean_loss}
    alone = train_twin(mlp(SIZES).double(), few)
    for whole in simulate(trained_on, 4, threads=True, **given).results:
        assert largest_difference(whole.parameters, alone.parameters) < CLOSE[torch.float64]
        assert whole.losses == pytest.approx(alone.losses)


def test_a_loss_that_is_no_mean_is_refused_where_samples_are_parted():
    added = nn.CrossEntropyLoss(reduction="sum")
    given = {"grid": ProductGrid(z=2), "batches": batches(torch.float64), "loss": added}
    with pytest.raises(RankFailed, match="this loss adds over examples"):
        simulate(trained_on, 2, threads=True, **given)


def refused(comm, grid, layer):
    try:
        BlockLinear(product_axes(comm, grid), layer)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("grid", "layer", "words"),
    [
        (ProductGrid(2, 2), nn.Linear(8, 8), "has 4 ranks, but there are 2"),
        (ProductGrid(2), nn.Linear(8, 1), "1 outputs and 8 inputs cannot be cut into 2"),
        (ProductGrid(1, 2), nn.Linear(1, 8), "and 2 parts (along y)"),
        (ProductGrid(2), nn.Linear(8, 8, bias=False), "a layer without a bias"),
    ],
)
def test_what_cannot_be_split_is_refused_with_the_reason(grid, layer, words):
    assert all(words in said for said in simulate(refused, 2, grid=grid, layer=layer).results)
