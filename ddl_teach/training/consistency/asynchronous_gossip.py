"""Asynchronous gossip (AD-PSGD): workers average in pairs, each at its own pace.

    the gradient at a copy of x_i, in the background; and meanwhile, with one neighbour or more:
        x_i, x_j  <-  (x_i + x_j) / 2
    x_i  -=  rate * gradient

There is no common step and no server: no worker waits for a slow one, and the price is staleness.
Of two neighbours always the same one asks (`training.distribution.meetings` says why). A rank that
does not ask must not run away: it is at most `ahead` steps ahead of the fastest that asks it. Lian
et al., "Asynchronous decentralized parallel stochastic gradient descent", ICML 2018. What to look
at: one straggler delays synchronous gossip for all ranks, hop by hop.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import SyncHandle


class PairwiseAveraging(Protocol):
    """One worker's meetings with its neighbours."""

    def during(self, step: int, compute: Callable[[Comm], None]) -> None:
        """Run `compute` in the background; meanwhile ask this step's neighbour and answer
        others."""

    def end(self) -> None:
        """Ask a neighbour once more after the last step, and answer all that will still ask."""


@runtime_checkable
class Meets(SyncHandle, Protocol):
    """A place from which neighbours average in pairs."""

    def meetings(
        self, vector: np.ndarray, steps: int, seed: int, ahead: float
    ) -> PairwiseAveraging:
        """The meetings of `steps` steps, and one more at the end."""


@dataclass(frozen=True)
class AsynchronousGossip(Consistency[Meets]):
    """`seed` draws which rank asks which; with `ahead` infinite none waits for being asked."""

    ahead: float = 2
    seed: int = 0
    needs = (Meets,)
    sends = "weights"

    def __post_init__(self) -> None:
        if not self.ahead >= 0:
            raise ValueError(f"ahead must be a number of steps, 0 or more, not {self.ahead!r}")

    def run(self, worker: AnyWorker[Meets]) -> None:
        meetings = worker.handle.meetings(worker.weights, worker.steps, self.seed, self.ahead)
        for step in range(worker.steps):
            gradients: list[np.ndarray] = []
            snapshot = worker.weights.copy()

            def compute(comm: Comm) -> None:
                gradients.append(worker.gradient(step, snapshot, comm))  # noqa: B023 -- ends first

            meetings.during(step, compute)
            worker.update(gradients[0])
        meetings.end()
