"""Synchronous: all workers wait for all, at every step.

    w -= rate * mean over the workers of g_i(w)

All workers always hold the same weights: P workers with b samples each learn what one process with
P b samples would. A step takes as long as the slowest gradient, plus one average. Valiant, "A
bridging model for parallel computation", 1990 (bulk synchronous); Chen et al., "Revisiting
distributed synchronous SGD", 2016. Every other consistency gives up equal weights to wait less.
"""

from dataclasses import dataclass

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Averages


@dataclass(frozen=True)
class Synchronous(Consistency[Averages]):
    """Average the gradients; then all workers make the same step."""

    needs = (Averages,)
    sends = "gradients"

    def run(self, worker: AnyWorker[Averages]) -> None:
        for step in range(worker.steps):
            gradient = worker.gradient(step)
            worker.handle.average(gradient)
            worker.update(gradient)
