"""HOGWILD: all workers update one vector in shared memory, and nobody takes a lock.

    w[touched] -= rate * g[touched](w)          whoever, whenever

Nobody waits, and nothing is sent. What can go wrong: a gradient is computed from weights that
others change meanwhile (staleness), and of two additions to one number at the same moment one is
lost. Where gradients are sparse both are rare; where they are dense most additions still arrive,
because each is only begun when its gradient is complete. Write back a copy of the whole vector
instead of adding to it, and all that others did meanwhile is gone.
Recht, Re, Wright and Niu, "HOGWILD!: a lock-free approach to parallelizing stochastic gradient
descent", NIPS 2011. What to look at: the ledger, which stays empty; and `Result.staleness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ddl_teach.sgd.when import When
from ddl_teach.sgd.worker import Worker


@dataclass(frozen=True)
class Hogwild(When):
    """Lock-free; the momentum and the like of each worker's rule are its own."""

    needs: ClassVar[tuple[str, ...]] = ("share",)
    sends: ClassVar[str] = "changes"

    def run(self, worker: Worker) -> None:
        """One worker's training."""
        station = worker.station
        worker.weights = station.shared  # from here on what this worker writes, all have
        sparse = hasattr(worker.task, "touched")
        for step in range(worker.steps):
            seen = station.applied()
            gradient = worker.touched(step) if sparse else worker.gradient(step)
            worker.staleness.append(station.applied() - seen)
            if sparse:
                update_touched(worker, *gradient)
            else:
                worker.update(gradient)
            station.count()
        worker.weights = station.all_done()


def update_touched(worker: Worker, indices: np.ndarray, values: np.ndarray) -> None:
    """One step of the rule where the gradient is not zero; all else is not even read."""
    worker.updates += 1
    before = worker.weights[indices]
    after, states = before.copy(), [state[indices] for state in worker.states]
    worker.rule(after, values, states, worker.updates)
    for state, part in zip(worker.states, states, strict=True):
        state[indices] = part
    worker.weights[indices] += after - before
