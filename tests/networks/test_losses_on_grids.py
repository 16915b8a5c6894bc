"""Grids: with a loss and an optimizer of one's own as the twin; no rank goes on with a sum."""

from functools import partial

import pytest
import torch
from loss_cases import ADDS, NEITHER_WORDS, batches, contrasting, mean, squares, summed
from torch import nn

from ddl_teach import simulate
from ddl_teach.networks import twin
from ddl_teach.networks.grid.trainer import Trainer
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.theory.grids.grid import Grid

GRIDS = Grid(data=2), Grid(tensor=3), Grid(pipeline=2), Grid(data=2, pipeline=2)
ADAMW = partial(torch.optim.AdamW, lr=0.05)
SIZES = (24, 18, 24)


def model_for(grid):
    """An mlp may be split along tensor; with another activation it is any module."""
    if grid.tensor > 1:
        return mlp((3, 6, 6, 3)).double()
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 3)).double()


def far_from_twin(comm, grid, loss):
    """How far this rank's weights are from those of one process, after three steps of AdamW."""
    model, rows = model_for(grid), batches(*SIZES)
    wanted = twin.train(model, rows, loss=loss, optimizer=ADAMW).parameters
    trainer = Trainer(
        comm, model_for(grid), grid, micro_batches=2, inputs=rows[0][0], loss=loss, optimizer=ADAMW
    )
    for batch in rows:
        trainer.step(batch)
    mine = trainer.parameters()
    return twin.largest_difference(mine, {name: wanted[name] for name in mine})


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("loss", [mean, squares])
def test_a_grid_trains_as_its_twin_with_another_loss_and_optimizer(grid, loss):
    run = simulate(far_from_twin, grid.ranks, threads=True, grid=grid, loss=loss)
    assert max(run.results) < 1e-9


@pytest.mark.parametrize("grid", [GRIDS[1], GRIDS[3]], ids=str)
def test_real_ranks_do_too(grid, real):
    assert max(real(far_from_twin, grid.ranks, grid=grid, loss=squares).results) < 1e-9


def refused(comm, grid, loss):
    """What this rank says of the loss, and whether its weights are as they were."""
    trainer = Trainer(
        comm, model_for(grid), grid, micro_batches=2, inputs=batches(24)[0][0], loss=loss
    )
    before = twin.copies(trainer.parameters().items())
    with pytest.raises(ValueError, match="this loss") as refusal:
        trainer.step(*batches(24))
    return str(refusal.value), twin.largest_difference(trainer.parameters(), before)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize(("loss", "words"), [(summed, ADDS), (contrasting, NEITHER_WORDS)])
def test_all_ranks_refuse_what_is_no_mean(grid, loss, words):
    run = simulate(refused, grid.ranks, threads=True, grid=grid, loss=loss)
    assert all(words in text and moved == 0 for text, moved in run.results)


def test_real_ranks_refuse_it_too(real):
    results = real(refused, 4, grid=GRIDS[3], loss=summed).results
    assert all(ADDS in text and moved == 0 for text, moved in results)


def test_a_gpt_has_its_own_loss():
    def program(comm):
        with pytest.raises(TypeError, match="leave loss out"):
            Trainer(comm, gpt(), Grid(tensor=2), loss=mean)

    simulate(program, 2, threads=True)
