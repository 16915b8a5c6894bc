"""A shared vector: all workers read and write the same memory, and nothing is ever sent.

Each worker also counts its updates in shared memory that only itself writes. The sum of all
counters, before and after a gradient, shows how stale it was, without a lock. Cost: no messages,
but traffic between the cores' caches. The ledger stays empty, and `Result.staleness` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.handles import Requirements, Service, SyncHandle
from ddl_teach.training.consistency.hogwild import Shares
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.optimizers.update import Update

LINE = 64  # bytes of a cache line: a counter has one to itself
COUNT = np.dtype(np.int64)


@dataclass(frozen=True)
class SharedVector(Distribution["Common"]):
    """One vector of weights for all ranks of a node."""

    offers = (Shares,)

    def objection(
        self, consistency: Requirements, compressor: Compressor, update: Update | None
    ) -> str | None:
        if isinstance(compressor, Dense):
            return None
        return "here nothing travels, so no compressor helps: take Dense(), or AllReduce()"

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> Common:
        begin = -(-weights.nbytes // LINE) * LINE
        # Every rank's part is that large, but memory that is not touched takes no room.
        memory = comm.shared_memory(begin + LINE)
        shared = memory.arrays(weights.dtype, len(weights))[0]
        counters = memory.arrays(COUNT, 1, begin)
        if comm.rank == 0:
            shared[...] = weights
        counters[comm.rank][0] = 0
        memory.fence()  # no rank starts before the weights are there
        return Common(comm, shared, counters, memory.fence)


class Common(SyncHandle):
    """A worker's place at the shared vector."""

    def __init__(
        self, comm: Comm, shared: np.ndarray, counters: list[np.ndarray], fence: Callable[[], None]
    ) -> None:
        self.worker, self.workers = comm.rank, comm.size
        self.shared = shared
        self._counters, self._fence = counters, fence

    def applied(self) -> int:
        return sum(int(counter[0]) for counter in self._counters)

    def count(self) -> None:
        self._counters[self.worker][0] += 1

    def all_done(self) -> np.ndarray:
        self._fence()
        return self.shared.copy()
