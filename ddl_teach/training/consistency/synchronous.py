"""Synchronous: everybody waits for everybody, at every step.

    w -= rate * mean over the workers of g_i(w)

All workers hold the same weights at all times, and P workers with b samples each are one worker
with P b samples: what one process would have learnt. A step takes as long as the slowest worker's
gradient, plus one average. Valiant, "A bridging model for parallel computation", 1990 (bulk
synchronous); Chen et al., "Revisiting distributed synchronous SGD", 2016.
What to look at: it is the yardstick. Every other WHEN gives up equal weights to wait less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ddl_teach.sgd.when import When
from ddl_teach.sgd.worker import Worker


@dataclass(frozen=True)
class Synchronous(When):
    """Average the gradients; then everybody makes the same step."""

    needs: ClassVar[tuple[str, ...]] = ("average",)
    sends: ClassVar[str] = "gradients"

    def run(self, worker: Worker) -> None:
        """One worker's training."""
        for step in range(worker.steps):
            gradient = worker.gradient(step)
            worker.station.average(gradient)
            worker.update(gradient)
