"""HOGWILD: all workers update one vector in shared memory, and none takes a lock.

The definition stands in `plain.hogwild`. Where gradients are dense, most additions still arrive.
Writing back a whole copy instead of adding would undo all that others did meanwhile.
What to look at: the ledger, which stays empty; and `Result.staleness`.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import SyncHandle


@runtime_checkable
class Shares(SyncHandle, Protocol):
    """A handle to one vector that all workers write to."""

    shared: np.ndarray

    def applied(self) -> int:
        """How many updates all workers together have made so far."""

    def count(self) -> None:
        """Count one more update of this worker."""

    def all_done(self) -> np.ndarray:
        """The weights, once all workers have made the last update."""


@runtime_checkable
class Touches(Protocol):
    """A task that knows which few places of its weights a gradient touches."""

    def touched(
        self, weights: np.ndarray, part: int, parts: int, step: int
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """The loss; the places, ascending; and the gradient there."""


@dataclass(frozen=True)
class Hogwild(Consistency[Shares]):
    """Lock-free training. Each worker's rule has its own momentum and other states."""

    needs = (Shares,)
    sends = "changes"

    def run(self, worker: AnyWorker[Shares]) -> None:
        handle, task = worker.handle, worker.task
        worker.weights = handle.shared  # from here on what this worker writes, all have
        for step in range(worker.steps):
            seen = handle.applied()
            if isinstance(task, Touches):
                places, values = worker.ask(partial(touched, task), step)
                update = partial(worker.update_at, places, values)
            else:
                update = partial(worker.update, worker.gradient(step))
            worker.staleness.append(handle.applied() - seen)
            update()
            handle.count()
        worker.weights = handle.all_done()


def touched(task: Touches, *asked: Any) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    """The task's answer in two parts: the loss, and all else."""
    loss, places, values = task.touched(*asked)
    return loss, (places, values)
