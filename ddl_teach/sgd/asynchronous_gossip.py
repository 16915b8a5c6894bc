"""Asynchronous gossip (AD-PSGD): workers average in pairs, each at its own pace.

    the gradient at a copy of x_i, in the background; and meanwhile, with one neighbour or more:
        x_i, x_j  <-  (x_i + x_j) / 2
    x_i  -=  rate * gradient

There is no step that all make together, and no server either: nobody waits for the slow. The price
is staleness, as with an asynchronous server. Of two neighbours always the same one asks the other
(`exchange.paths.meetings` says why), so one side of the graph does not ask, and must not run away:
it is `ahead` steps at most of the furthest of those who ask it. Slow ones among them hold nobody.
Lian et al., "Asynchronous decentralized parallel stochastic gradient descent", ICML 2018.
What to look at: one straggler delays synchronous gossip for all ranks, hop by hop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ddl_teach.comm import Comm
from ddl_teach.sgd.when import When
from ddl_teach.sgd.worker import Worker


@dataclass(frozen=True)
class AsynchronousGossip(When):
    """`seed` draws who asks whom; with `ahead` infinite nobody waits for being asked."""

    ahead: float = 2
    seed: int = 0
    needs: ClassVar[tuple[str, ...]] = ("meet",)
    sends: ClassVar[str] = "weights"

    def __post_init__(self) -> None:
        if not self.ahead >= 0:
            raise ValueError(f"ahead is a number of steps, 0 or more, not {self.ahead!r}")

    def run(self, worker: Worker) -> None:
        """One worker's training."""
        meetings = worker.station.meetings(worker.weights, worker.steps, self.seed, self.ahead)
        for step in range(worker.steps):
            snapshot, found = worker.weights.copy(), []

            def compute(comm: Comm, step=step, snapshot=snapshot, found=found) -> None:
                found.append(worker.gradient(step, snapshot, comm))

            meetings.during(step, compute)
            worker.update(found[0])
        meetings.end()
