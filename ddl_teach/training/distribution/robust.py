"""Workers that lie: every rank gets the vectors of all, and combines them by a rule.

`robust_rules` has the rules, `theory.byzantine` how many liars each bears and what it costs
without any. Cost: an all-gather, (P-1) n bytes a rank where a ring sends 2 (P-1)/P n; no sum can
be made on the way, for a liar could hide in it.
What to look at: workers with unlike data look like liars.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.checks import one_of, whole_number
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.theory.byzantine import most_liars
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.handles import Averages, Requirements, Service
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.distribution.robust_rules import RULES
from ddl_teach.training.optimizers.update import Update

Lie = Callable[[np.ndarray, int], np.ndarray]  # of all rows and how many lie, to the liars' rows


@dataclass(frozen=True)
class Robust(Distribution["Judged"]):
    """An average in which up to `liars` workers may send whatever they like. With a `lie` the last
    `liars` ranks use it, and know what all others send."""

    rule: str = "median"
    liars: int = 0
    lie: Lie | None = None
    offers = (Averages,)

    def __post_init__(self) -> None:
        whole_number(self.liars, "Robust: liars", 0)
        one_of(self.rule, "rule of Robust", RULES)

    def objection(
        self, consistency: Requirements, compressor: Compressor, update: Update | None
    ) -> str | None:
        if compressor.nbytes(1) is None:
            return "all know the length of each message, and here lengths vary: take Dense()"
        return None

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> Judged:
        stream, last = compressor.stream(comm.rank), np.zeros_like(weights)
        expected = min(self.liars, most_liars(self.rule, comm.size))

        def average(vector: np.ndarray) -> None:
            message = stream.encode(vector)
            sent = np.empty((comm.size, message.nbytes), np.uint8)
            sent[comm.rank] = message.view(np.uint8)
            ring.allgather(comm, sent.reshape(-1))
            rows = np.stack([compressor.decode(each, vector.size) for each in sent])
            if self.lie is not None and self.liars:
                rows[-self.liars :] = self.lie(rows, self.liars)
            last[:] = vector[:] = RULES[self.rule](rows, expected, last)

        return Judged(comm, average)


class Judged(Averages):
    """The handle of a rank whose vectors a rule combines."""

    def __init__(self, comm: Comm, average: Callable[[np.ndarray], None]) -> None:
        self.worker, self.workers, self._average = comm.rank, comm.size, average

    def average(self, vector: np.ndarray) -> None:
        self._average(vector)
