"""Lose a rank, shrink, and go on: no checkpoint, no restart, no step lost.

    lost = time to notice + agree + shrink + one step done again

All ranks hold the same weights, so nothing is lost with a dead rank. The others must agree on
which ranks are left (`ddl_runtime.core.fault_tolerance`), on the step, and on the data of each.

- *Step.* No rank can end step k+1 before all have ended step k. So a rank that noticed the failure
  in a step is at most one step behind, and takes weights and states from the others.
- *Data.* The batches are numbered and divided anew (`progress`); none is left out or doubled.
- *End.* A rank that is done must wait until all agree that they are done.

If a cable is cut, the ranks on each side take the others for dead, and two trainings go on. With
`least` above half of all ranks, the smaller one ends.
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
    """A loss of ranks: `ranks` were left, and this one went on with `step`. `noticed` and
    `resumed` are times by `comm.now()`."""

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
    rank: int  # its number among the ranks that are left


def survive(
    comm: Comm,
    plan: TrainingPlan,
    *,
    least: int = 1,
    allreduce: Callable[[Comm, Array], None] = ring.allreduce,
    before: Moment = lambda comm, step: None,
) -> Survived:
    """Train to the plan's last step, however many ranks die meanwhile, and return what this rank
    then has. It ends early when fewer than `least` ranks are left."""
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
    """The progress of the rank that is farthest ahead, on all ranks."""
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
