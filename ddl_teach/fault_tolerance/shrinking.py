"""Lose a rank, shrink, and go on: no checkpoint, no restart, no step lost.

    lost = time to notice + agree + shrink + one step done again

All ranks hold the same weights, so the others know what a dead one knew. Three things are to be
put right: who is left (`ddl_runtime.core.fault_tolerance`), at which step, and who learns what.

- *At which step.* No rank can be through with step k+1 before all have been through with k. So
  those who noticed in a step are at most one behind, and take weights and states from the others.
- *From what.* The batches are numbered and shared anew (`progress`); none is left out or doubled.
- *When it is over.* A rank that is done is still needed, until all agree that they are.

Behind a cable that is out there live ranks too, and take all others for dead: two trainings go on.
`least` ranks, more than half of all, end the smaller one.
What to look at: afterwards the weights are those of a serial twin, bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ddl_runtime.core.arrays import Array
from ddl_runtime.core.fault_tolerance import RankLost
from ddl_teach.collectives import ring, tree
from ddl_teach.comm import Comm
from ddl_teach.fault_tolerance.progress import TrainingPlan, TrainingProgress

Moment = Callable[[Comm, int], None]  # before each step: a pace, a note, an accident


@dataclass(frozen=True)
class Loss:
    """So many `ranks` were left; this one went on with step `step`. Seconds since its begin."""

    step: int
    ranks: int
    noticed: float
    resumed: float


@dataclass(frozen=True)
class Survived:
    """What one rank has in the end; fewer `steps` than planned if too few ranks were left."""

    weights: np.ndarray
    steps: int
    losses: tuple[Loss, ...]
    rank: int  # its number among those who are left


def survive(
    comm: Comm,
    plan: TrainingPlan,
    *,
    least: int = 1,
    allreduce: Callable[[Comm, Array], None] = ring.allreduce,
    before: Moment = lambda comm, step: None,
) -> Survived:
    """Train, however many ranks die meanwhile."""
    progress, losses, noticed = plan.begin(), [], None
    while comm.size >= least:
        whole = True
        try:
            if noticed is not None:
                progress = latest(comm, progress)
                losses.append(Loss(progress.step, comm.size, noticed, comm.now()))
            while progress.step < plan.steps:
                before(comm, progress.step)
                plan.step(progress, comm.rank, comm.size, partial(allreduce, comm))
        except RankLost:
            whole = False
            comm.revoke()
        noticed = comm.now()
        if comm.agree(whole):
            break
        comm = comm.shrink()
    return Survived(progress.weights, progress.step, tuple(losses), comm.rank)


def latest(comm: Comm, progress: TrainingProgress) -> TrainingProgress:
    """The progress of who has come farthest, for all."""
    steps = np.zeros(comm.size, np.int64)
    steps[comm.rank] = progress.step
    tree.allreduce(comm, steps)
    first = int(steps.argmax())
    if steps.min() == steps[first]:
        return progress
    # Into copies: a rank that is lost in here leaves the others with what they had.
    newest = TrainingProgress.of({name: np.copy(each) for name, each in progress.state().items()})
    numbers = np.array([progress.step, progress.taken])
    for array in (numbers, newest.weights, *newest.states):
        tree.broadcast(comm, array, first)
    newest.step, newest.taken = map(int, numbers)
    return newest
