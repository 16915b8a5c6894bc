"""The usual mistakes of unit 15, servers, and words of the message that must name each."""

import numpy as np

from ddl_teach import Comm
from ddl_teach.comm import ANY


def through(
    comm: Comm,
    x: np.ndarray,
    servers: int,
    divide=lambda comm, servers: comm.size - servers,
    begin=0.0,
    in_turn: bool = False,
    place=lambda server, servers: server,
) -> None:
    """Right, but for what the arguments say."""
    parts = np.array_split(x, servers)
    if comm.rank < servers:
        mine = parts[comm.rank]
        arriving = np.empty_like(mine)
        mine[...] *= begin
        for _ in range(comm.size - servers):
            comm.recv(arriving, ANY)
            mine += arriving
        mine /= divide(comm, servers)
        for worker in range(servers, comm.size):
            comm.send(mine, worker)
        return
    if in_turn:
        for server in range(servers):
            comm.send(parts[server], server)
            comm.recv(parts[server], server)
        return
    for server in range(servers):
        comm.send(parts[server], server)
    arriving = [np.empty_like(part) for part in parts]
    for server in range(servers):
        comm.recv(arriving[server], server)
    for server in range(servers):
        parts[place(server, servers)][...] = np.resize(
            arriving[server], parts[place(server, servers)].shape
        )


def one(comm: Comm, x: np.ndarray, **how) -> None:
    through(comm, x, 1, **how)


def under_another_name(comm: Comm, x: np.ndarray) -> None:
    if comm.rank:
        comm.send(x, 0)
        x = np.empty_like(x)
        comm.recv(x, 0)
    else:
        one(comm, x)


def answers_only_one(comm: Comm, x: np.ndarray) -> None:
    if comm.rank:
        one(comm, x)
        return
    arriving = np.empty_like(x)
    for worker in range(1, comm.size):
        comm.recv(arriving, worker)
    comm.send(arriving, 1)


def waits_for_an_answer_first(comm: Comm, x: np.ndarray) -> None:
    if comm.rank:
        comm.recv(x, 0)
        comm.send(x, 0)
    else:
        one(comm, x)


def from_itself(comm: Comm, x: np.ndarray) -> None:
    for worker in range(comm.size if comm.rank == 0 else 0):
        comm.recv(np.empty_like(x), worker)
    if comm.rank:
        one(comm, x)


def everybody_to_everybody(comm: Comm, x: np.ndarray) -> None:
    """A worker that tells the others as well."""
    total = x.copy()
    for rank in range(1, comm.size):
        if rank == comm.rank:
            for other in range(1, comm.size):
                if other != rank:
                    comm.send(x, other)
        elif comm.rank:
            arriving = np.empty_like(x)
            comm.recv(arriving, rank)
            total += arriving
    if comm.rank:
        x[...] = total / (comm.size - 1)


def whole_vectors(comm: Comm, x: np.ndarray, servers: int) -> None:
    """Every server gets all of x, and takes what it needs."""
    parts = np.array_split(x, servers)
    workers = range(servers, comm.size)
    if comm.rank < servers:
        mine, arriving = parts[comm.rank], np.empty_like(x)
        mine[...] = 0
        for worker in workers:
            comm.recv(arriving, worker)
            mine += np.array_split(arriving, servers)[comm.rank]
        mine /= len(workers)
        for worker in workers:
            comm.send(mine, worker)
        return
    for server in range(servers):
        comm.send(x, server)
    for server in range(servers):
        comm.recv(parts[server], server)


def all_ranks(comm: Comm, servers: int = 1) -> int:
    return comm.size


def nobody(comm: Comm, servers: int = 1) -> int:
    return 1


MISTAKES = [
    ("15.server", lambda comm, x: one(comm, x, divide=nobody), "That is the sum"),
    ("15.server", lambda comm, x: one(comm, x, divide=all_ranks), "the servers are no workers"),
    ("15.server", lambda comm, x: one(comm, x, begin=1.0), "A server's own x is in it"),
    (
        "15.server",
        lambda comm, x: one(comm, x, begin=1.0, divide=all_ranks),
        "A server's own x is in it",
    ),
    ("15.server", under_another_name, "x is as it was"),
    ("15.server", answers_only_one, "Ranks wait for messages that never come"),
    ("15.server", waits_for_an_answer_first, "Ranks wait for messages that never come"),
    ("15.server", from_itself, "Does a loop over the ranks include comm.rank?"),
    ("15.server", everybody_to_everybody, "sends to another worker"),
    (
        "15.sharded",
        lambda comm, x, servers: through(comm, x, servers, divide=all_ranks),
        "the servers are no workers",
    ),
    (
        "15.sharded",
        lambda comm, x, servers: through(comm, x, servers, divide=nobody),
        "That is the sum",
    ),
    (
        "15.sharded",
        lambda comm, x, servers: through(comm, x, servers, begin=1.0),
        "A server's own x is in it",
    ),
    (
        "15.sharded",
        lambda comm, x, servers: through(comm, x, servers, place=lambda server, servers: 0),
        "It is not the mean of the workers",
    ),
    (
        "15.sharded",
        lambda comm, x, servers: through(comm, x, servers, in_turn=True),
        "send all shards first",
    ),
    ("15.sharded", whole_vectors, "Each server needs its own shard"),
    ("15.enough", lambda arrivals, enough: arrivals[enough - 1], "the worker with that number"),
    ("15.enough", lambda arrivals, enough: max(arrivals), "the last of all workers"),
    ("15.enough", lambda arrivals, enough: min(arrivals), "when the first is done"),
    ("15.enough", lambda arrivals, enough: sorted(arrivals)[enough], "a list begins at 0"),
    ("15.enough", lambda arrivals, enough: sorted(arrivals)[-enough], "from the latest to"),
    ("15.enough", lambda arrivals, enough: sum(sorted(arrivals)[:enough]), "You have added times"),
    ("15.enough", lambda arrivals, enough: None, "yours returns None"),
]
