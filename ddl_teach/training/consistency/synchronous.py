"""Synchronous: everybody waits for everybody, at every step.

    w -= rate * mean over the workers of g_i(w)

All workers hold the same weights at all times, and P workers with b samples each are one worker
with P b samples: what one process would have learnt. A step takes as long as the slowest worker's
gradient, plus one average. Valiant, "A bridging model for parallel computation", 1990 (bulk
synchronous); Chen et al., "Revisiting distributed synchronous SGD", 2016.
What to look at: it is the yardstick. Every other consistency gives up equal weights to wait less.
"""

from dataclasses import dataclass

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Averages


@dataclass(frozen=True)
class Synchronous(Consistency[Averages]):
    """Average the gradients; then everybody makes the same step."""

    needs = (Averages,)
    sends = "gradients"

    def run(self, worker: AnyWorker[Averages]) -> None:
        for step in range(worker.steps):
            gradient = worker.gradient(step)
            worker.handle.average(gradient)
            worker.update(gradient)
