"""The usual mistakes with spare machines, and words of the message that must name each."""

import numpy as np

from ddl_class.exercises.unit_15.spares_judges import in_a_ring
from ddl_teach import Comm


def servers(begin: float = 0.0, pieces: int = 1, answers: bool = True):
    """The three spare machines do it all: they begin with so much of their own."""

    def with_spares(comm: Comm, x: np.ndarray) -> None:
        for piece in np.array_split(x, pieces):
            shards = np.array_split(piece, 3)
            if comm.rank < 4:
                for server, shard in enumerate(shards, start=4):
                    comm.send(shard, server)
                for server, shard in enumerate(shards, start=4):
                    comm.recv(shard, server)
                continue
            mine = shards[comm.rank - 4]
            total, arriving = begin * mine, np.empty_like(mine)
            for worker in range(4):
                comm.recv(arriving, worker)
                total += arriving
            for worker in range(4 if answers else 3):
                comm.send(total, worker)

    return with_spares


def two_workers(comm: Comm, x: np.ndarray) -> None:
    """The sum of neighbours alone."""
    theirs = np.zeros_like(x)
    if comm.rank < 4:
        comm.sendrecv(x, comm.rank ^ 1, theirs, comm.rank ^ 1)
    x += theirs


MISTAKES = [
    ("15.spares", lambda comm, x: None, "is as it was"),
    ("15.spares", servers(begin=1.0), "It must begin with zeros"),
    ("15.spares", two_workers, "is not the sum of the four workers' elements"),
    ("15.spares", in_a_ring, "after 1.63 ms. The goal is 1.5 ms"),
    ("15.spares", servers(), "The goal is 1.5 ms"),
    ("15.spares", servers(pieces=12), "The goal is 1.5 ms"),
    ("15.spares", servers(answers=False), "messages that never come"),
]
