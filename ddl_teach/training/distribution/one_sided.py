"""One-sided: the server is a piece of memory, and no process works there.

The weights lie in windows, a shard on each rank; all ranks are workers. A push applies the rule to
an own copy and *adds* the difference to the shards; a pull reads them. Clocks stand on a board in
rank 0's window, where a rank that must wait looks again and again. Averages are made alike: all
add to windows of zeros, meet, and read the sums.

Cost for n bytes and P workers: an update is n bytes written, a pull n bytes read, spread over the
ports of P ranks, and no other processor is busy. What memory cannot do is keep momentum, decode a
message, or know whose update came last. Gropp, Hoefler, Thakur and Lusk, "Using advanced MPI",
2014; Recht et al., "Hogwild!", NIPS 2011, for updates that meet in the same memory.
What to look at: kinds "add" and "get" in the ledger; no rank's timeline shows a server.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.arrays import split_evenly
from ddl_runtime.core.checks import amount
from ddl_teach.comm import Comm
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.handles import (
    Averages,
    Requirements,
    ServerReport,
    Serves,
    Service,
)
from ddl_teach.training.consistency.rows import Rows
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.distribution.server_state import OnlyRank
from ddl_teach.training.optimizers.update import Update

GONE = 2**62  # the clock of a worker that is no longer waited for
FIRST_NAP, LONGEST_NAP = 20e-6, 1e-3  # seconds between two looks at the board


@dataclass(frozen=True)
class OneSided(Distribution["Reaching | OnlyRank"]):
    """Windows on all ranks. A worker that waits for a clock longer than `patience` seconds raises
    an error."""

    patience: float = 60.0
    offers = (Averages, Serves)

    def __post_init__(self) -> None:
        amount(self.patience, "patience in seconds", zero=False)

    def objection(
        self, consistency: Requirements, compressor: Compressor, update: Update | None
    ) -> str | None:
        if not isinstance(compressor, Dense):
            return "a window adds numbers and cannot decode a message: take Dense(), or Server()"
        if Averages in consistency.needs or update is None:
            return None
        service = consistency.service(update)
        if service.backups:
            return "memory does not know which update came last: take Server(), which does"
        if service.rule is not None and service.rule.states:
            kept = f"{type(update).__name__} keeps states beside the weights"
            return f"{kept}, and no rank updates them: take SGD(), or Server()"
        return None

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> Reaching | OnlyRank:
        if comm.size == 1:
            return OnlyRank(weights, compressor, service)
        return Reaching(comm, weights, service, self.patience)


class Reaching:
    """A worker's handle, which reads and changes the weights in the memory of all ranks."""

    def __init__(self, comm: Comm, weights: np.ndarray, service: Service, patience: float) -> None:
        self.worker, self.workers = comm.rank, comm.size
        self._comm, self._service, self._patience = comm, service, patience
        self._seen = weights.copy()  # as pulled last
        self._version = self._clock = self._round = 0
        self._staleness: list[int] = []
        # Each begins with another shard, or all would reach for the first.
        self._order = [*range(comm.rank, comm.size), *range(comm.rank)]
        own = split_evenly(weights, comm.size)[comm.rank]
        self._shards = comm.window(len(own), weights.dtype)
        self._shards.own[...] = own
        self._sums = comm.window(3 * len(own), weights.dtype)
        # How many updates there were, then all ranks' pushes, then all ranks' pulls.
        self._board = comm.window(1 + 2 * comm.size if comm.rank == 0 else 0, np.int64)
        comm.barrier()

    def push(self, update: np.ndarray) -> None:
        waits = self._service.bound == 0
        changed = self._seen.copy()
        assert self._service.rule is not None, "only a consistency that has one pushes"
        self._service.rule(changed, update, [], self._clock + 1)
        changed -= self._seen
        if waits:  # the mean; and no rank may still be reading the weights of this clock
            changed /= self.workers
            self._wait(1 + self.workers, self._clock + 1)
        stale = int(self._board.fetch_and_add(1, 0)) - self._version
        self._staleness.append(0 if waits else stale)
        if self._service.damp is not None:
            changed *= self._service.damp(self._staleness[-1])
        parts = split_evenly(changed, self.workers)
        for owner in self._order:
            self._shards.add(parts[owner], owner)
        self._clock += 1
        self._tell(1, self._clock)

    def pull(self, weights: np.ndarray, rows: Rows | None = None) -> int:
        # Whatever rows are needed, all are read: each of them would be a message of its own.
        if self._service.bound < np.inf:
            self._wait(1, self._clock - int(self._service.bound))
        version = np.empty(1, np.int64)
        self._board.get(version, 0)
        self._version = int(version[0])
        parts = split_evenly(weights, self.workers)
        for owner in self._order:
            self._shards.get(parts[owner], owner)
        self._seen[...] = weights
        self._tell(1 + self.workers, self._clock + 1)
        return self._clock

    def average(self, vector: np.ndarray) -> None:
        parts = split_evenly(vector, self.workers)
        # Of three rooms one is added to, one may still be read, and one is made ready.
        now, after = self._round % 3, (self._round + 1) % 3
        width = len(parts[self.worker])
        self._sums.own[after * width : (after + 1) * width] = 0
        for owner in self._order:
            self._sums.add(parts[owner], owner, now * len(parts[owner]))
        self._comm.barrier()
        for owner in self._order:
            self._sums.get(parts[owner], owner, now * len(parts[owner]))
        vector /= self.workers
        self._round += 1

    def leave(self) -> ServerReport:
        """No rank waits for this worker any more; returns the staleness of its own updates."""
        self._tell(1, GONE)
        self._tell(1 + self.workers, GONE)
        made = len(self._staleness)
        return ServerReport((self.worker,) * made, tuple(self._staleness), made)

    def _tell(self, column: int, clock: int) -> None:
        self._board.put(np.array([clock], np.int64), 0, column + self.worker)

    def _wait(self, column: int, clock: int) -> None:
        """Look at the board until all have come to that clock."""
        clocks = np.empty(self.workers, np.int64)
        begun, nap = self._comm.now(), FIRST_NAP
        while True:
            self._board.get(clocks, 0, column)
            if clocks.min() >= clock:
                return
            if self._comm.now() > begun + self._patience:
                raise TimeoutError(
                    f"worker {clocks.argmin()} has stayed at clock {clocks.min()} for "
                    f"{self._patience:g} s, and worker {self.worker} needs it at {clock}: is it "
                    "gone without leave()? Server(patience=1) survives that"
                )
            self._comm.work(seconds=nap)
            nap = min(2 * nap, LONGEST_NAP)
