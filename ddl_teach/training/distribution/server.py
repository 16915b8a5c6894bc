"""Updates travel to a server and weights back: to one, or in shards to several.

The first ranks are servers and do nothing else; the others are workers. A worker cuts its update
into one shard for each server; each server has its own shard and its own books, so servers never
speak to each other. On one rank alone, that rank is server and worker, without messages.

Cost for n bytes of weights on S servers and P workers, each clock: P n/S bytes come in at every
server and as many go out, P n/S / bandwidth on its port, where a ring needs 2 n / bandwidth.
Beside each update travels a request of 24 bytes; a pull is another, and its answer has 16 more.
Who needs only R rows of a table of w columns names them: 4 (R + 1) bytes, and w R numbers back.
Smola and Narayanamurthy, "An architecture for parallel topic models", VLDB 2010; Li et al.,
"Scaling distributed machine learning with the parameter server", OSDI 2014.
What to look at: `ledger.bytes_to(0)` of all workers together is the ingress of the first server.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar

import numpy as np

from ddl_teach.comm import ANY, Comm, Request
from ddl_teach.comm.arrays import split_evenly
from ddl_teach.exchange.forms.dense import Dense
from ddl_teach.exchange.forms.form import Form, at_least_one, checked
from ddl_teach.exchange.paths.alarm import Alarm, check_patience
from ddl_teach.exchange.paths.alone import Alone
from ddl_teach.exchange.paths.books import Books
from ddl_teach.exchange.paths.path import Path
from ddl_teach.networks.memory.updates import Update
from ddl_teach.sgd.rows import Rows
from ddl_teach.sgd.service import Service
from ddl_teach.sgd.station import Shift
from ddl_teach.sgd.when import When

UPDATE, ROWS, ANSWER, WEIGHTS = 1, 2, 3, 4  # tags
REQUEST = 5  # and those above it: tags of requests
TRAININGS = 1000  # one after another on one communicator, whose requests are told apart
PUSH, PULL, LEAVE = range(3)  # what a request asks for


@dataclass(frozen=True)
class Sharded:
    """So many dedicated servers, the first ranks; fewer where that would leave no worker.

    A worker from whom nothing comes for `patience` seconds counts as dead; without that number
    servers wait for ever. For workers in `late` they wait only from their first pull on.
    """

    servers: int = 2
    patience: float | None = None
    late: tuple[int, ...] = ()
    offers: ClassVar[tuple[str, ...]] = ("average", "serve")

    def __post_init__(self) -> None:
        at_least_one("servers", self.servers)
        if self.patience is not None:
            check_patience(self.patience)
        if not isinstance(self.late, tuple):
            raise TypeError(f"late is a tuple of workers' numbers, as (2,), not {self.late!r}")

    def objection(self, when: When, path: Path, form: Form, update: Update | None) -> str | None:
        """A server with a part of the weights cannot apply every rule."""
        if self.servers == 1 or "average" in when.needs or update is None or update.elementwise:
            return None
        return (
            f"{type(update).__name__} looks at whole layers, and each of {self.servers} servers "
            "has only parts of them: take Server(), or Synchronous(), where workers make the steps"
        )

    def open(
        self, comm: Comm, weights: np.ndarray, form: Form, service: Service
    ) -> Served | Serving | Alone:
        """This rank's station."""
        if comm.size == 1:
            return Alone(weights, form, service)
        servers = min(self.servers, comm.size - 1)
        for worker in self.late:
            if worker not in range(comm.size - servers):
                raise ValueError(
                    f"late: worker {worker!r} does not exist; {comm.size} ranks with {servers} of "
                    f"them servers are workers 0 to {comm.size - servers - 1}"
                )
        # Who has finished may begin the next training before others have: with another tag its
        # requests wait until the servers come to it.
        number = comm.attributes.get(Sharded, 0)
        comm.attributes[Sharded] = number + 1
        requests = REQUEST + number % TRAININGS
        alone = None if self.patience is None else comm.split(comm.rank)
        if comm.rank >= servers:
            return Served(comm, servers, form, requests)
        shard = split_evenly(weights, servers)[comm.rank]
        books = Books(shard, comm.size - servers, service, self.late)
        alarm = Alarm(alone, self.patience) if alone else None
        begin = _begins(weights, servers)[comm.rank]
        return Serving(comm, servers, books, begin, form, alarm, requests)


@dataclass(frozen=True)
class Server(Sharded):
    """One parameter server, rank 0."""

    servers: int = field(default=1, init=False)


class Served:
    """A worker's station: it pushes updates to the servers and pulls weights from them."""

    def __init__(self, comm: Comm, servers: int, form: Form, requests: int) -> None:
        self.worker = comm.rank - servers
        self.workers = comm.size - servers
        self.serves = True
        self._comm, self._requests = comm, requests
        self._form = form
        # What a form leaves out of one shard must not come into another.
        self._links = [form.link(seed=comm.rank * servers + server) for server in range(servers)]
        # Each begins with another server, or all would stand in line at the first.
        self._order = [(self.worker + step) % servers for step in range(servers)]
        self._versions = np.zeros(servers, np.int64)

    def push(self, update: np.ndarray) -> None:
        """Hand an update in."""
        under_way = []
        parts = split_evenly(update, len(self._links))
        for server in self._order:
            message = self._message(server, parts[server])
            under_way.append(self._ask(server, PUSH, message.nbytes))
            under_way.append(self._comm.isend(message, server, UPDATE))
        _finish(under_way)

    def _message(self, server: int, part: np.ndarray) -> np.ndarray:
        if isinstance(self._form, Dense):
            return checked(part).view(np.uint8)  # no copy: a push ends when they have left
        return self._links[server].encode(part)

    def pull(self, weights: np.ndarray, rows: Rows | None = None) -> int:
        """Fill `weights`, or these rows of them, once the servers give them out; returns the
        clock to go on from."""
        answers = np.empty((len(self._links), 2), np.int64)
        under_way = []
        parts, begins = (of(weights, len(self._links)) for of in (split_evenly, _begins))
        places: dict[int, np.ndarray] = {}
        arriving = dict(enumerate(parts))
        for server in self._order:
            named = np.empty(0, np.uint32)
            if rows is not None:
                here = begins[server], begins[server] + len(parts[server])
                named, places[server] = rows.packed(*here), rows.places(*here)
                arriving[server] = np.empty(len(places[server]), weights.dtype)
            under_way.append(self._comm.irecv(answers[server], server, ANSWER))
            under_way.append(self._comm.irecv(arriving[server], server, WEIGHTS))
            under_way.append(self._ask(server, PULL, named.nbytes))
            if rows is not None:
                under_way.append(self._comm.isend(named, server, ROWS))
        _finish(under_way)
        for server, its_places in places.items():
            parts[server][its_places] = arriving[server]
        self._versions = answers[:, 0]
        return int(answers[:, 1].min())

    def average(self, vector: np.ndarray) -> None:
        """The mean over all workers, in place: of servers without a rule."""
        self.push(vector)
        self.pull(vector)

    def leave(self) -> None:
        """Say that there is nothing more to come."""
        _finish([self._ask(server, LEAVE) for server in range(len(self._links))])

    def _ask(self, server: int, what: int, nbytes: int = 0) -> Request:
        request = np.array([what, self._versions[server], nbytes])
        return self._comm.isend(request, server, self._requests)


class Serving:
    """A server's station: `serve` until all workers have left."""

    worker = None
    serves = True

    def __init__(
        self,
        comm: Comm,
        servers: int,
        books: Books,
        begin: int,
        form: Form,
        alarm: Alarm | None,
        requests: int,
    ) -> None:
        self.books = books
        self.workers = comm.size - servers
        self._comm, self._requests = comm, requests
        self._servers = servers
        self._form = form
        self._alarm = alarm
        self._begin = begin  # where its shard begins in the whole vector
        self._wanted: dict[int, np.ndarray] = {}  # by worker: where the rows are that it named
        self._room = np.empty(0, np.uint8)

    def serve(self) -> Shift:
        """Answer requests in the order in which they come."""
        books, comm = self.books, self._comm
        request = np.empty(3, np.int64)
        while books.open and (source := self._next(request)) is not None:
            worker, (what, version, nbytes) = source - self._servers, request.tolist()
            if what == PUSH:
                message = self._room_for(nbytes)
                comm.recv(message, source, UPDATE)
                # Numbers that came as they are need no copy: nobody else has this message.
                plain = isinstance(self._form, Dense)
                read = self._form.summands if plain else self._form.decode
                update = read(message, books.weights.size)
                books.push(worker, version, update, comm.now())
            elif what == PULL:
                if nbytes:
                    self._note_rows(worker, source, nbytes)
                books.pull(worker, comm.now())
            else:
                books.leave(worker)
            self._answer()
        return books.shift()

    def leave(self) -> None:
        """A server goes when its workers have gone."""

    def _room_for(self, nbytes: int) -> np.ndarray:
        """Where a message goes: to fresh memory if the update in it must wait for others."""
        if self.books.service.bound == 0:
            return np.empty(nbytes, np.uint8)
        if nbytes > len(self._room):
            self._room = np.empty(nbytes, np.uint8)
        return self._room[:nbytes]

    def _note_rows(self, worker: int, source: int, nbytes: int) -> None:
        named = np.empty(nbytes // 4, np.uint32)
        self._comm.recv(named, source, ROWS)
        end = self._begin + len(self.books.weights)
        self._wanted[worker] = Rows.unpacked(named).places(self._begin, end)

    def _answer(self) -> None:
        books, comm = self.books, self._comm
        for worker in books.answers():
            answer = np.array([books.version, books.clock[worker]])
            comm.send(answer, self._servers + worker, ANSWER)
            wanted = self._wanted.pop(worker, slice(None))
            comm.send(books.weights[wanted], self._servers + worker, WEIGHTS)

    def _next(self, request: np.ndarray) -> int | None:
        """Wait for a request; returns who made it, or None if all who could are dead."""
        if self._alarm is None:
            return self._comm.recv(request, ANY, self._requests)
        coming = self._comm.irecv(request, ANY, self._requests)
        while not self._alarm.or_done(self._comm, coming):
            self.books.look_for_the_dead(self._comm.now(), self._alarm.seconds)
            self._answer()
            if not self.books.open:
                return None
        return coming.wait()


def _begins(vector: np.ndarray, servers: int) -> list[int]:
    """Where each server's shard begins."""
    sizes = (len(part) for part in split_evenly(vector, servers))
    return list(accumulate(sizes, initial=0))[:-1]


def _finish(under_way: list[Request]) -> None:
    for request in under_way:
        request.wait()


def mean_of_workers(comm: Comm, x: np.ndarray, servers: int = 1) -> None:
    """`x` becomes the mean over the workers, in place, through that many servers."""
    station = Sharded(servers).open(comm, x, Dense(), Service())
    if station.worker is None:
        station.serve()
    else:
        station.average(x)
        station.leave()
