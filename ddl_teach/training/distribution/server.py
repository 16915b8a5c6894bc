"""Updates travel to a server and weights back: to one, or in shards to several.

The first ranks are servers and do nothing else; the others are workers. A worker cuts its update
into one shard for each server, which keeps a state of its own: servers never exchange messages.
On one rank alone, that rank is server and worker, without messages.

Cost for n bytes of weights on S servers and P workers, each clock: P n/S bytes come in at every
server and as many go out: P n/S / bandwidth on its port. A ring needs 2 n / bandwidth. Beside each
update travels a request of 24 bytes; a pull is another, and its answer has 16 more. R rows of a
table of w columns are named by 4 (R + 1) bytes, and w R numbers come back. Smola and
Narayanamurthy, "An architecture for parallel topic models", VLDB 2010; Li et al. 2014.
What to look at: `ledger.bytes_to(0)` of all workers together is the ingress of the first server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar, Protocol

import numpy as np

from ddl_runtime.core.arrays import split_evenly
from ddl_runtime.core.checks import amount
from ddl_teach.comm import ANY, Comm, Request
from ddl_teach.theory.inputs import count
from ddl_teach.training.consistency.handles import (
    Averages,
    Dedicated,
    Requirements,
    ServerReport,
    Serves,
    Service,
)
from ddl_teach.training.consistency.rows import Rows
from ddl_teach.training.distribution.server_state import Codec, OnlyRank, ServerHandle, ServerState
from ddl_teach.training.optimizers.update import Update

UPDATE, ROWS, ANSWER, WEIGHTS = 1, 2, 3, 4  # tags
REQUEST = 5  # and those above it: tags of requests
TRAININGS = 1000  # one after another on one communicator, whose requests have tags of their own
PUSH, PULL, LEAVE = range(3)  # what a request asks for


class Carrier(Protocol):
    """What workers write updates into, and servers step from."""

    service: Service  # what is left for the servers to do

    def put(self, server: int, update: np.ndarray) -> None: ...
    def take(self, worker: int, like: np.ndarray) -> np.ndarray | Iterator[np.ndarray]: ...


@dataclass(frozen=True)
class Sharded:
    """So many dedicated servers, the first ranks. A worker that is silent for `patience` seconds
    counts as dead; for workers in `late` servers wait only from their first pull on."""

    servers: int = 2
    patience: float | None = None
    late: tuple[int, ...] = ()
    offers: ClassVar[tuple[type, ...]] = (Averages, Serves)

    def __post_init__(self) -> None:
        count("servers", self.servers)
        if self.patience is not None:
            amount(self.patience, "patience in seconds", zero=False)
        if not isinstance(self.late, tuple):
            raise TypeError(f"late is a tuple of workers' numbers, as (2,), not {self.late!r}")

    def objection(
        self, consistency: Requirements, compressor: object, update: Update | None
    ) -> str | None:
        whole = self.servers == 1 or Averages in consistency.needs
        if whole or update is None or update.elementwise:
            return None
        parts = f"each of {self.servers} servers has only parts of them"
        advice = "take Server(), or Synchronous(), where workers make the steps"
        return f"{type(update).__name__} looks at whole layers, and {parts}: {advice}"

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Codec, service: Service
    ) -> ServerHandle | Dedicated:
        if comm.size == 1:
            return OnlyRank(weights, compressor, service)
        servers = self.servers
        if servers >= comm.size:
            fewer = "Server()" if comm.size == 2 else f"Sharded({comm.size - 1})"
            here = f"Sharded({servers}) on {comm.size} ranks: {servers} servers leave no worker"
            raise ValueError(f"{here}. Take {fewer}, or begin at least {servers + 1} ranks")
        for worker in set(self.late) - set(range(comm.size - servers)):
            workers = f"{comm.size} ranks with {servers} of them servers are workers"
            last = comm.size - servers - 1
            raise ValueError(f"late: worker {worker!r} does not exist; {workers} 0 to {last}")
        # A worker may begin the next training before others have ended this one: with another tag
        # its requests wait until the servers come to it.
        number = comm.attributes.get(Sharded, 0)
        comm.attributes[Sharded] = number + 1
        requests = REQUEST + number % TRAININGS
        alarm = None
        if self.patience is not None:
            alarm = SilenceLimit(comm.split(comm.rank), self.patience)
        carrier = self.carrier(comm, service)
        if carrier is not None:
            service = carrier.service
        if comm.rank >= servers:
            return ServerClient(comm, servers, compressor, requests, carrier)
        begin, shard = _shards(weights, servers)[comm.rank]
        state = ServerState(shard, comm.size - servers, service, self.late)
        return ServerLoop(comm, servers, state, begin, compressor, alarm, requests, carrier)

    def carrier(self, comm: Comm, service: Service) -> Carrier | None:
        """What updates pass through instead of messages (`through_memory`)."""
        return None


@dataclass(frozen=True)
class Server(Sharded):
    """One parameter server, rank 0."""

    servers: int = field(default=1, init=False)


class ServerClient(ServerHandle):
    """A worker's handle: it pushes updates to the servers and pulls weights from them."""

    def __init__(
        self, comm: Comm, servers: int, compressor: Codec, requests: int,
        carrier: Carrier | None = None,
    ) -> None:  # fmt: skip
        self.worker, self.workers = comm.rank - servers, comm.size - servers
        self._comm, self._requests, self._carrier = comm, requests, carrier
        # What a compressor leaves out of one shard must not come into another.
        seeds = range(comm.rank * servers, (comm.rank + 1) * servers)
        self._streams = list(map(compressor.stream, seeds))
        # Each begins with another server, or all would stand in line at the first.
        self._order = [(self.worker + step) % servers for step in range(servers)]
        self._versions = np.zeros(servers, np.int64)

    def push(self, update: np.ndarray) -> None:
        under_way = []
        parts = split_evenly(update, len(self._streams))
        for server in self._order:
            if self._carrier is not None:
                self._ask(server, PUSH, parts[server].nbytes).wait()
                self._carrier.put(server, parts[server])
                continue
            message = self._streams[server].encode(parts[server])
            under_way.append(self._ask(server, PUSH, message.nbytes))
            under_way.append(self._comm.isend(message, server, UPDATE))
        _finish(under_way)

    def pull(self, weights: np.ndarray, rows: Rows | None = None) -> int:
        answers = np.empty((len(self._streams), 2), np.int64)
        under_way, chosen = [], []
        shards = _shards(weights, len(self._streams))
        for server in self._order:
            begin, part = shards[server]
            named, arriving = np.empty(0, np.uint32), part
            if rows is not None:
                here = begin, begin + len(part)
                named, places = rows.packed(*here), rows.places(*here)
                arriving = np.empty(len(places), weights.dtype)
                chosen.append((part, places, arriving))
                under_way.append(self._comm.isend(named, server, ROWS))
            under_way.append(self._comm.irecv(answers[server], server, ANSWER))
            under_way.append(self._comm.irecv(arriving, server, WEIGHTS))
            under_way.append(self._ask(server, PULL, named.nbytes))
        _finish(under_way)
        for part, places, arriving in chosen:
            part[places] = arriving
        self._versions = answers[:, 0]
        return int(answers[:, 1].min())

    def leave(self) -> None:
        _finish([self._ask(server, LEAVE) for server in range(len(self._streams))])

    def _ask(self, server: int, what: int, nbytes: int = 0) -> Request:
        request = np.array([what, self._versions[server], nbytes])
        return self._comm.isend(request, server, self._requests)


@dataclass(eq=False)
class ServerLoop:
    """A server's handle: `serve` until all workers have left."""

    comm: Comm
    servers: int
    state: ServerState
    begin: int  # where its shard begins in the whole vector
    compressor: Codec
    alarm: SilenceLimit | None
    requests: int  # their tag
    carrier: Carrier | None = None
    room: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))
    wanted: dict[int, np.ndarray] = field(default_factory=dict)  # places, by the worker that asked
    worker: None = field(default=None, init=False)

    def serve(self) -> ServerReport:
        state, comm = self.state, self.comm
        request = np.empty(3, np.int64)
        while state.open and (source := self._next(request)) is not None:
            worker, (what, version, nbytes) = source - self.servers, request.tolist()
            if what == PUSH:
                state.push(worker, version, self._update(source, nbytes), comm.now())
            elif what == PULL:
                if nbytes:
                    named = np.empty(nbytes // 4, np.uint32)
                    comm.recv(named, source, ROWS)
                    end = self.begin + len(state.weights)
                    self.wanted[worker] = Rows.unpacked(named).places(self.begin, end)
                state.pull(worker, comm.now())
            else:
                state.leave(worker)
            self._answer()
        return state.report()

    def _update(self, source: int, nbytes: int) -> np.ndarray | Iterator[np.ndarray]:
        if self.carrier is not None:
            return self.carrier.take(source, self.state.weights)
        if nbytes > len(self.room) or self.state.service.bound == 0:
            self.room = np.empty(nbytes, np.uint8)  # what waits for others keeps its own
        message = self.room[:nbytes]
        self.comm.recv(message, source, UPDATE)
        return self.compressor.decode(message, self.state.weights.size)

    def _answer(self) -> None:
        for worker in self.state.answers():
            answer = np.array([self.state.version, self.state.clock[worker]])
            self.comm.send(answer, self.servers + worker, ANSWER)
            wanted = self.wanted.pop(worker, slice(None))
            self.comm.send(self.state.weights[wanted], self.servers + worker, WEIGHTS)

    def _next(self, request: np.ndarray) -> int | None:
        """Wait for a request; returns its worker, or None if no worker is left alive."""
        coming = self.comm.irecv(request, ANY, self.requests)
        while self.alarm and not self.alarm.or_done(self.comm, coming):
            self.state.look_for_the_dead(self.comm.now(), self.alarm.seconds)
            self._answer()
            if not self.state.open:
                return None
        return coming.wait()


def _shards(vector: np.ndarray, servers: int) -> list[tuple[int, np.ndarray]]:
    """Where each server's shard begins, and the shard."""
    parts = split_evenly(vector, servers)
    return list(zip(accumulate(map(len, parts), initial=0), parts, strict=False))


def _finish(under_way: list[Request]) -> None:
    for request in under_way:
        request.wait()


class SilenceLimit:
    """Wakes a waiting server every `seconds` / 2, since a request that never comes cannot wake it.
    A function in the background sleeps for this time, and the server waits for a request or for
    the end of this function."""

    def __init__(self, alone: Comm, seconds: float) -> None:
        self._alone = alone  # of this rank only: a background function meets no other rank
        self.seconds = seconds
        self._ringing: Request | None = None

    def or_done(self, comm: Comm, coming: Request) -> bool:
        """Wait for a message or for the end of the time; True if the message is there."""
        if self._ringing is None:
            # Twice as often as a worker may be silent: so a death is noticed not much later.
            self._ringing = self._alone.background(Comm.work, self.seconds / 2)
        if comm.wait_any([coming, self._ringing]) == 0:
            return True
        self._ringing = None
        return False
