"""Save now and then; when a rank dies let all die, and start again from what was saved.

    lost = time to notice + time to start + the steps since the last checkpoint
    paid besides, failure or not: a save every few steps; `theory.failures` says how many

That a rank's death is the death of all is MPI's own rule; `again` or a batch system starts the
job again, on any number of ranks: all have the same state, and one file is enough.
What to look at: with `every=0` nothing is saved, and a failure costs all steps.
"""

import os
from collections.abc import Callable
from functools import partial

import numpy as np

from ddl_runtime.core.arrays import Array
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.fault_tolerance.checkpoints import Checkpoints
from ddl_teach.fault_tolerance.progress import TrainingPlan, TrainingProgress
from ddl_teach.fault_tolerance.shrinking import Moment


def resume(
    comm: Comm, plan: TrainingPlan, folder: str | os.PathLike[str], every: int, *,
    allreduce: Callable[[Comm, Array], None] = ring.allreduce,
    before: Moment = lambda comm, step: None,
) -> np.ndarray:  # fmt: skip
    """Train on from the newest checkpoint in the folder, with a new one after `every` steps;
    returns the weights."""
    kept = Checkpoints(comm, folder, alike=True)
    newest = kept.newest()
    progress = TrainingProgress.of(newest.state) if newest else plan.begin()
    while progress.step < plan.steps:
        before(comm, progress.step)
        plan.step(progress, comm.rank, comm.size, partial(allreduce, comm))
        if every and progress.step % every == 0:
            kept.save(progress.step, progress.state())
    return progress.weights
