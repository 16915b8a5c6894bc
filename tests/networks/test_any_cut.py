"""Modules that are no sequence, in a pipeline; and clipping over stages and tensor ranks."""

import copy
from functools import partial

import pytest
import torch
from torch import nn
from torch_modules import Borrows, Language, Statistics, Untied, language_batches, picture_batches

from ddl_teach import simulate
from ddl_teach.networks.grid.trainer import Trainer
from ddl_teach.networks.models import data
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.pipelines.any_cut import stretches
from ddl_teach.networks.pipelines.gems import gems
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.train_pipeline import together, train
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble
from ddl_teach.networks.twin import largest_difference
from ddl_teach.theory.grids.grid import Grid

pytestmark = pytest.mark.slow  # torch.export alone takes seconds to load

LIMIT = 0.2


def encoder():
    layer = nn.TransformerEncoderLayer(6, 2, 12, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)


def of_words(rows):
    return torch.randn(rows, 5, 6, generator=torch.Generator().manual_seed(2)).double()


MODULES = {
    "a language model": (Untied, lambda rows: language_batches(1, rows)[0][0]),
    "torch's encoder": (encoder, of_words),
    "statistics": (Statistics, lambda rows: picture_batches(1, rows)[0][0]),
}


def made(make, seed=0):
    torch.manual_seed(seed)
    return make().double()


@pytest.mark.parametrize("rows", [4, 7])
@pytest.mark.parametrize("name", MODULES)
@pytest.mark.sampled(2)
def test_stretches_compute_what_the_module_does_on_any_number_of_rows(name, rows):
    make, inputs = MODULES[name]
    module = made(make)
    row = stretches(copy.deepcopy(module), inputs(4))
    assert len(row) >= 3
    assert {key for key, _ in row.named_parameters()} == {
        key for key, _ in module.named_parameters()
    }
    assert torch.equal(row(inputs(rows)), module(inputs(rows)))


def clipped_twin(model, batches):
    """One process with torch's clipping."""
    steps = Descent(model.parameters())
    for inputs, targets in batches:
        steps.zero_grad()
        mean_loss(model(inputs), targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
        steps.step()
    return dict(model.named_parameters())


def pipeline(comm, schedule):
    return train(comm, made(Untied), language_batches(3), schedule, limit=LIMIT)


SCHEDULES = {
    "1F1B": partial(one_f_one_b, micro_batches=3),
    "zero bubble": partial(zero_bubble, micro_batches=3),
    "GEMS": partial(gems, micro_batches=4),
}


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.sampled(6)
def test_a_pipeline_of_any_module_ends_where_the_twin_ends_clipped_too(name, ranks):
    schedule = SCHEDULES[name](ranks)
    run = simulate(pipeline, ranks, schedule=schedule)
    twin = clipped_twin(made(Untied), language_batches(3))
    assert largest_difference(together(run.results).parameters, twin) < 1e-10


@pytest.mark.real
@pytest.mark.parametrize(
    "ranks", [2, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (1, 3))]
)
def test_on_real_ranks_too(real, ranks):
    run = real(pipeline, ranks, schedule=one_f_one_b(ranks, 3), timeout=200)
    twin = clipped_twin(made(Untied), language_batches(3))
    assert largest_difference(together(run.results).parameters, twin) < 1e-10


def small():
    return gpt(width=8, heads=4, blocks=2, length=8, tied=False).double()


def on_a_grid(comm, grid):
    trainer = Trainer(comm, small(), grid, micro_batches=2)
    for batch in data.batches(data.characters(8), 8, 3):
        trainer.step(batch, limit=LIMIT)
    return trainer.parameters()


@pytest.mark.parametrize(
    "grid", [Grid(data=2), Grid(pipeline=2), Grid(tensor=2), Grid(context=2), Grid(2, 2, 2, 1)]
)
@pytest.mark.sampled(2)
def test_a_grid_clips_by_the_norm_of_the_whole_network(grid):
    twin = clipped_twin(small(), data.batches(data.characters(8), 8, 3))
    for mine in simulate(on_a_grid, grid.ranks, grid=grid, threads=True).results:
        assert largest_difference(mine, {name: twin[name] for name in mine}) < 1e-10


def any_on_a_grid(comm, grid):
    batches = language_batches(3, 16)
    trainer = Trainer(comm, made(Untied), grid, micro_batches=2, inputs=batches[0][0])
    for batch in batches:
        trainer.step(batch, limit=LIMIT)
    return trainer.parameters()


def check_grid(run):
    twin, names = clipped_twin(made(Untied), language_batches(3, 16)), set()
    for mine in run.results:
        assert largest_difference(mine, {name: twin[name] for name in mine}) < 1e-10
        names |= mine.keys()
    assert names == twin.keys()


GRIDS = [
    Grid(),
    Grid(2),
    Grid(1, 2),
    Grid(3),
    Grid(1, 3),
    Grid(2, 2),
    Grid(5),
    Grid(4, 2),
    Grid(8),
]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.sampled(3)
def test_a_grid_trains_any_module_along_data_and_pipeline(grid):
    check_grid(simulate(any_on_a_grid, grid.ranks, grid=grid, threads=True))


@pytest.mark.real
@pytest.mark.parametrize("grid", [Grid(2), Grid(1, 2), Grid(2, 2)], ids=str)
@pytest.mark.sampled(3)
def test_and_on_real_ranks(real, grid):
    check_grid(real(any_on_a_grid, grid.ranks, grid=grid, timeout=200))


class Decides(nn.Module):
    """What it computes depends on its numbers: nothing that can be written down once."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        return self.layer(x) if x.sum() > 0 else x


@pytest.mark.parametrize(
    ("make", "inputs", "words"),
    [
        (Decides, of_words, "torch.export cannot write"),
        (Language, lambda rows: language_batches(1, rows)[0][0], "share a parameter"),
        (Borrows, lambda rows: picture_batches(1, rows)[0][0], "1 to 2 stages, not 3"),
    ],
)
def test_what_cannot_be_cut_is_refused(make, inputs, words):
    batch = inputs(6), torch.zeros(6, dtype=torch.long)
    program = partial(train, model=made(make), batches=[batch], schedule=one_f_one_b(3, 3))
    with pytest.raises(Exception, match=words):
        simulate(program, 3)
