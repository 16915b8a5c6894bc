"""What a parameter server does with updates and clocks; it sends no message itself.

A server holds weights, or a shard of them. Workers *push* updates and *pull* weights; a worker's
clock counts its updates. `consistency.handles` says what the service's `bound` means: how long a
pull waits. Li et al., "Scaling distributed machine learning with the parameter server", OSDI 2014;
Ho et al. 2013; Chen et al., "Revisiting distributed synchronous SGD", 2016, for backups. What to
look at: a worker that leaves, dies or comes late only changes for which workers a server waits.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ddl_teach.training.consistency.handles import Averages, ServerReport, Serves, Service
from ddl_teach.training.consistency.rows import Rows

TILE = 1 << 16  # numbers that an element-wise rule works on at once


class ServerState:
    """One server's weights and what it knows of its workers."""

    def __init__(
        self, weights: np.ndarray, workers: int, service: Service, late: tuple[int, ...] = ()
    ) -> None:
        """Workers in `late` are not waited for until they first pull."""
        self.service = service
        self.weights = weights.copy()
        self.version = 0  # steps made so far
        self.clock = [0] * workers  # updates that each worker has finished
        self.here = set(range(workers)) - set(late)
        self.awaited = set(late)  # workers that have not come yet
        states = 0 if service.rule is None else service.rule.states
        self._states = [np.zeros_like(weights) for _ in range(states)]
        self._collected: dict[int, np.ndarray] = {}  # of this clock, by worker; where bound is 0
        self._asked: dict[int, int] = {}  # workers that wait for weights, and at which clock
        self._heard = [0.0] * workers
        self._applied: list[tuple[int, int]] = []  # worker, staleness
        self._dropped = 0
        self._events: list[str] = []

    @property
    def open(self) -> bool:
        """Whether any worker may still send requests."""
        return bool(self.here or self.awaited)

    def report(self) -> ServerReport:
        workers, staleness = zip(*self._applied, strict=True) if self._applied else ((), ())
        return ServerReport(workers, staleness, self.version, self._dropped, tuple(self._events))

    # -- what workers do --------------------------------------------------------------------

    def push(
        self, worker: int, version: int, update: np.ndarray | Iterator[np.ndarray], now: float = 0
    ) -> None:
        """An update that `worker` has computed from the weights of that version. It may come piece
        by piece where it counts at once."""
        self._heard[worker] = now
        self.clock[worker] += 1
        if self.service.bound or not isinstance(update, np.ndarray):
            self._apply(update, [(worker, self.version - version)])
        elif version == self.version:
            self._collected[worker] = update
            self._step_if_complete()
        else:
            self._dropped += 1

    def pull(self, worker: int, now: float = 0.0) -> None:
        """`worker` asks for weights; `answers` says when it may have them."""
        self._heard[worker] = now
        if worker not in self.here:
            came = "has come" if worker in self.awaited else "is back"
            self._events.append(f"{now:.3g} s: worker {worker} {came}, at step {self.version}")
            self.clock[worker] = self._clock_now()
            self.awaited.discard(worker)
            self.here.add(worker)
        self._asked[worker] = self.clock[worker]

    def leave(self, worker: int) -> None:
        self.here.discard(worker)
        self.awaited.discard(worker)
        self._step_if_complete()

    def answers(self) -> list[int]:
        """The workers that may have the weights now; they count as answered."""
        now = self._clock_now()
        ready = [worker for worker, at in self._asked.items() if now >= at - self.service.bound]
        for worker in ready:
            del self._asked[worker]
            # A backup worker whose update came too late goes on with the others.
            self.clock[worker] = max(self.clock[worker], now)
        return ready

    def look_for_the_dead(self, now: float, patience: float) -> None:
        """Stop waiting for workers that were silent for so long; one that waits is alive."""
        for worker in sorted((self.here | self.awaited) - self._asked.keys()):
            silent = now - self._heard[worker]
            if silent >= patience:
                what = "has not come" if worker in self.awaited else "has sent nothing"
                event = f"{now:.3g} s: worker {worker} {what} for {silent:.3g} s"
                self._events.append(f"{event}. It counts as dead, and no rank waits for it")
                self.leave(worker)

    # -- steps ------------------------------------------------------------------------------

    def _clock_now(self) -> int:
        """The clock at which a worker that joins now begins: the slowest worker's."""
        if not self.service.bound:
            return self.version
        return min(map(self.clock.__getitem__, self.here), default=0)

    def _step_if_complete(self) -> None:
        collected = self._collected
        missing = self.here - collected.keys()
        if collected and len(missing) <= self.service.backups:
            # In the workers' order, so that the sum does not depend on which came first.
            workers = sorted(collected)
            total = collected[workers[0]].copy()
            for worker in workers[1:]:
                total += collected[worker]
            total /= len(workers)
            collected.clear()
            self._apply(total, [(worker, 0) for worker in workers])

    def _apply(self, update: np.ndarray | Iterator[np.ndarray], of: list[tuple[int, int]]) -> None:
        service, rule, end = self.service, self.service.rule, 0
        factor = None if service.damp is None else service.damp(of[0][1])
        self.version += 1
        if isinstance(update, np.ndarray):
            # Piece by piece, so that what a rule makes on the way stays in the cache.
            update = pieces(update, TILE if rule is None or rule.elementwise else len(update))
        for piece in update:
            begin, end = end, end + len(piece)
            if factor is not None:
                piece = piece * factor
            if rule is None:
                self.weights[begin:end] = piece
            else:
                states = [state[begin:end] for state in self._states]
                rule(self.weights[begin:end], piece, states, self.version)
        self._applied += of


def pieces(vector: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """The vector in parts of `width` numbers; the last may be shorter."""
    for start in range(0, len(vector), max(width, 1)):
        yield vector[start : start + width]


class Codec(Protocol):
    """What servers and their workers need of a compressor, as of `training.compression`."""

    def stream(self, seed: int = 0) -> Any: ...  # `encode` makes the next vector a message
    def decode(self, message: np.ndarray, size: int) -> np.ndarray: ...


class ServerHandle(Averages, Serves, Protocol):
    """A worker's handle where servers keep the weights."""

    def average(self, vector: np.ndarray) -> None:
        """The mean over all workers, in place: of servers without a rule."""
        self.push(vector)
        self.pull(vector)


class OnlyRank(ServerHandle):
    """The handle of a rank that is alone: server and worker in one, without messages."""

    worker, workers = 0, 1

    def __init__(self, weights: np.ndarray, compressor: Codec, service: Service) -> None:
        self.state = ServerState(weights, 1, service)
        self._compressor, self._stream = compressor, compressor.stream()

    def push(self, update: np.ndarray) -> None:
        seen = self._compressor.decode(self._stream.encode(update), update.size)
        self.state.push(0, self.state.version, seen)

    def pull(self, weights: np.ndarray, rows: Rows | None = None) -> int:
        self.state.pull(0)
        self.state.answers()
        weights[...] = self.state.weights
        return self.state.clock[0]

    def leave(self) -> ServerReport:
        self.state.leave(0)
        return self.state.report()
