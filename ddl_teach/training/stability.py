"""The largest stable step, measured: halve the range until it is known well enough.

On a parabola of curvature one a rate is stable if the weight's swings get smaller. A few short
trainings, each with a rate in the middle of what is left, say where that ends; the gradients of
the last say how stale they were. Compare it with `theory.staleness`: `stable_rate` where all are
equally old, `stable_step` of the histogram where they are not. What to look at: it does not matter
which consistency makes gradients stale, only how stale they are.
"""

import math
from dataclasses import dataclass

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.collectives.sparse.messages import allgather
from ddl_teach.comm import Comm
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.worker import Pace
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.trainer import OwnHandle, train

LOWEST, HIGHEST = 0.005, 2.5  # fresh gradients bear a rate of 2, those 300 steps old this little


@dataclass(frozen=True)
class Limit:
    """The largest stable rate, and how old the gradients were; the same on every rank."""

    rate: float
    ages: tuple[int, ...]


def stable_limit(
    comm: Comm,
    consistency: Consistency[OwnHandle],
    distribution: Distribution[OwnHandle],
    steps: int,
    pace: Pace | None = None,
    halvings: int = 8,
) -> Limit:
    """The largest rate at which `steps` steps of each worker shrink the weight; all ranks call it.
    Each halving is a training of its own. `steps` must be enough for a few swings: of P workers
    whose gradients are P - 1 old, one takes about four steps of each of them."""
    low, high = LOWEST, HIGHEST
    for _ in range(halvings):
        rate = math.sqrt(low * high)
        task, update = Quadratic((1.0,)), SGD(rate)
        result = train(
            comm, task, consistency, distribution, update=update, steps=steps, pace=pace
        )
        losses = np.array(result.losses or [0.0])
        middle, late = np.array_split(losses, 3)[1:]
        swings = np.array([middle.max(initial=0.0), late.max(initial=0.0)])
        ring.allreduce(comm, swings, "max")  # all must go on with the same rate
        low, high = (rate, high) if swings[1] < swings[0] else (low, rate)
    ages = np.array(result.staleness if result.report is None else result.report.staleness, int)
    of_all = np.concatenate(allgather(comm, ages.view(np.uint8)))
    return Limit(low, tuple(of_all.view(int).tolist()))
