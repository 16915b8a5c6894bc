"""Every grid of 1, 2, 3, 4, 6 and 8 real ranks trains as its twin, and sends what theory says."""

from functools import cache

import pytest
import torch
from deaf import Deaf
from lenet import lenet

from ddl_measure.experiments.grids import sent_in_a_step
from ddl_teach import simulate
from ddl_teach.networks.grid.axes import axes_of
from ddl_teach.networks.grid.stages import hold
from ddl_teach.networks.grid.trainer import Trainer
from ddl_teach.networks.models import data
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.twin import largest_difference, train
from ddl_teach.theory.grids.grid import Grid, every
from ddl_teach.theory.grids.layers import perceptron, transformer
from ddl_teach.theory.grids.memory import held
from ddl_teach.theory.grids.sent import sent

CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5}
STEPS, BATCH, LENGTH = 10, 24, 8


def network(name, pipeline, kind):
    """As few layers as a pipeline of that length needs."""
    if name == "gpt":
        return gpt(width=8, heads=8, blocks=max(1, pipeline - 3), length=LENGTH).to(kind)
    return mlp((12, *(8,) * 2 * max(1, pipeline - 1), 10)).to(kind)


@cache
def batches(name, kind):
    if name == "gpt":
        return data.batches(data.characters(LENGTH), BATCH, STEPS)
    chance = torch.Generator().manual_seed(1)
    rows = torch.randn(240, 12, generator=chance, dtype=kind)
    answers = torch.randint(10, (240,), generator=chance)
    return data.batches((rows, answers), BATCH, STEPS)


@cache
def twin(name, layers, kind, steps):
    """The twin of all networks with so many layers."""
    pipeline = layers if name == "gpt" else layers // 4 + 1
    return train(network(name, pipeline, kind), batches(name, kind)[:steps]).parameters


def micro_batches_for(grid):
    if grid.ranks > 4 and grid.pipeline == 1:
        return 1  # eight processes on two cores: each message costs
    return 2 if BATCH % (2 * grid.data) == 0 else 3


def trainer_of(comm, name, grid, kind):
    model = network(name, grid.pipeline, kind)
    return len(model), Trainer(comm, model, grid, micro_batches=micro_batches_for(grid))


def far_from_twin(trainer, name, layers, kind, steps):
    mine, wanted = trainer.parameters(), twin(name, layers, kind, steps)
    return largest_difference(mine, {key: wanted[key] for key in mine})


def train_on(comm, name, grid, kind):
    """(from the twin, the same without messages, bytes, numbers held) of one grid."""
    layers, trainer = trainer_of(comm, name, grid, kind)
    first, *rest = batches(name, kind)
    along = sent_in_a_step(comm, trainer, first)
    for batch in rest:
        trainer.step(batch)
    far = far_from_twin(trainer, name, layers, kind, STEPS)
    _, alone = trainer_of(Deaf(comm), name, grid, kind)
    alone.step(first)
    deaf = far_from_twin(alone, name, layers, kind, 1)
    return far, deaf, along, sum(one.numel() for one in trainer.held.layers.parameters())


def cases(ranks):
    for grid in every(ranks):
        yield "gpt", grid, torch.float64
        if ranks in (2, 3):  # what is told of larger grids is told of simulated ones
            yield "gpt", grid, torch.float32
            if grid.context == 1:
                yield "mlp", grid, torch.float64


def train_on_all(comm):
    torch.set_num_threads(1)
    return [train_on(comm, *case) for case in cases(comm.size)]


@pytest.mark.parametrize(
    "ranks", [2, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (1, 3, 4, 6, 8))]
)
def test_every_grid_trains_as_its_twin_and_sends_what_theory_says(ranks, real):
    results = real(train_on_all, ranks, timeout=900, trace=False).results
    for (name, grid, kind), *own in zip(cases(ranks), *results, strict=True):
        assert max(far for far, *_ in own) < CLOSE[kind], (name, grid)
        if ranks > 1:
            assert not max(deaf for _, deaf, *_ in own) < 1e-3, (name, grid)
        network_on_paper = on_paper(name, grid)
        for rank, (_, _, along, numbers) in enumerate(own):
            split = {"batch": BATCH, "micro_batches": micro_batches_for(grid)}
            theory = sent(network_on_paper, grid, rank, **split, itemsize=kind.itemsize)
            assert along == theory, (name, grid, rank)
            holds = held(network_on_paper, grid, rank, **split, itemsize=1)
            assert numbers == holds.weights, (name, grid, rank)


def on_paper(name, grid):
    model = network(name, grid.pipeline, torch.float32)
    if name == "gpt":
        blocks = len(model) - 3
        return transformer(blocks=blocks, width=8, heads=8, length=LENGTH, vocabulary=100)
    return perceptron([12, *(one.out_features for one in model if hasattr(one, "out_features"))])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "grid", "kind"),
    [
        ("gpt", Grid(data=2, pipeline=2, tensor=2, context=2), torch.float64),
        ("gpt", Grid(pipeline=2, tensor=2, context=2), torch.float32),
        ("mlp", Grid(data=2, pipeline=2, tensor=2), torch.float64),
    ],
)
@pytest.mark.sampled(3)
def test_on_simulated_ranks_as_well(name, grid, kind):
    run = simulate(train_on, grid.ranks, threads=True, name=name, grid=grid, kind=kind)
    assert max(far for far, *_ in run.results) < CLOSE[kind]
    assert not max(deaf for _, deaf, *_ in run.results) < 1e-3


def test_batches_that_are_not_equal_are_weighted(real):
    """Seven rows on two ranks, eight positions on three: nobody has as many as another."""

    def program(comm, grid):
        model = network("gpt", 1, torch.float64)
        rows = [(x[:7], y[:7]) for x, y in batches("gpt", torch.float64)[:3]]
        trainer = Trainer(comm, network("gpt", 1, torch.float64), grid)
        losses = [trainer.step(batch) for batch in rows]
        wanted = train(model, rows)
        return largest_difference(trainer.parameters(), wanted.parameters), losses, wanted.losses

    results = real(program, 6, grid=Grid(data=2, context=3)).results
    assert max(far for far, *_ in results) < 1e-10
    assert [sum(each) for each in zip(*(own for _, own, _ in results), strict=True)] == (
        pytest.approx(results[0][2], rel=1e-10)
    )


def report(comm, name, grid):
    """What this rank reports of three steps."""
    _, trainer = trainer_of(comm, name, grid, torch.float64)
    return [trainer.step(batch) for batch in batches(name, torch.float64)[:3]]


def check_reports(run, name, grid):
    wanted = train(network(name, grid.pipeline, torch.float64), batches(name, torch.float64)[:3])
    totals = [sum(shares) for shares in zip(*run.results, strict=True)]
    assert totals == pytest.approx(wanted.losses, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "grid"),
    [
        *(("gpt", grid) for ranks in (1, 2, 3, 4, 5, 8) for grid in every(ranks)),
        ("mlp", Grid(tensor=3)),
        ("mlp", Grid(data=2, pipeline=2, tensor=2)),
    ],
    ids=str,
)
@pytest.mark.sampled(9)
def test_all_ranks_together_report_the_loss_once(name, grid):
    given = {"threads": True, "trace": False, "name": name, "grid": grid}
    check_reports(simulate(report, grid.ranks, **given), name, grid)


@pytest.mark.parametrize(
    "grid", [Grid(tensor=2), Grid(pipeline=2, tensor=2), Grid(data=2, context=2)], ids=str
)
def test_real_ranks_together_report_the_loss_once(grid, real):
    check_reports(real(report, grid.ranks, name="gpt", grid=grid), "gpt", grid)


def names_held(comm):
    held = hold(network("mlp", comm.size, torch.float64), axes_of(comm, Grid(pipeline=comm.size)))
    return [name for name, _ in held.layers.named_children()]


@pytest.mark.parametrize("pipeline", [1, 2, 3])
def test_stages_of_an_mlp_are_pairs_of_layers_and_each_layer_is_on_one(pipeline):
    """A pair is linear, relu, linear, relu."""
    parts = simulate(names_held, pipeline).results
    names = [name for name, _ in network("mlp", pipeline, torch.float64).named_children()]
    assert [name for part in parts for name in part] == names
    assert {len(part) % 4 for part in parts[:-1]} <= {0}


def test_what_cannot_be_is_refused(real):
    def program(comm):
        pair = Grid(context=2)
        with pytest.raises(ValueError, match="grid of 6 ranks, but there are 2"):
            axes_of(comm, Grid(data=3, tensor=2))
        with pytest.raises(ValueError, match="no positions to divide"):
            hold(mlp(), axes_of(comm, pair))
        with pytest.raises(ValueError, match="tied=False"):
            hold(gpt(tied=True), axes_of(comm, pair))
        for grid in (pair, Grid(tensor=2)):
            with pytest.raises(TypeError, match="along data and pipeline only"):
                hold(lenet(), axes_of(comm, grid))
        with pytest.raises(TypeError, match="give the batch as inputs=x"):
            hold(lenet(), axes_of(comm, Grid(data=2)))

    real(program, 2)
