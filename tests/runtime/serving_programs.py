"""Programs in which a server never answers, or which only look like that, and the advice."""

import numpy as np

from ddl_runtime.diagnosis.deadlock import Deadlock
from ddl_teach import ANY

X = np.zeros(4)


def server(comm, answers):
    """Rank 0 takes three requests of each of the others; `answers(requests)` says whether to."""
    if comm.rank:
        for _ in range(3):
            comm.send(X, 0)
            comm.recv(np.zeros(4), 0)
        return
    for request in range(1, 3 * (comm.size - 1) + 1):
        client = comm.recv(np.zeros(4), ANY)
        if answers(request):
            comm.send(X, client)


def server_that_never_answers(comm):
    server(comm, lambda request: False)


def server_that_forgets_one_answer(comm):
    server(comm, lambda request: request != 2)


def server_with_open_receives(comm):
    if comm.rank:
        comm.send(X, 0)
        comm.irecv(np.zeros(4), 0).wait()
        return
    while True:
        comm.wait_any([comm.irecv(np.zeros(4), ANY), comm.irecv(np.zeros(4), ANY, tag=1)])


def receives_that_nobody_serves(comm):
    """All wait for ANY: no server among them."""
    comm.recv(np.zeros(4), ANY)
    comm.send(X, (comm.rank + 1) % comm.size)


def ring_of_open_receives(comm):
    request = comm.irecv(np.zeros(4), (comm.rank - 1) % comm.size)
    request.wait()
    comm.send(X, (comm.rank + 1) % comm.size)


def server_that_counts_too_many(comm):
    if comm.rank:
        comm.send(X, 0)
        return
    for _ in range(comm.size):
        comm.recv(np.zeros(4), ANY)


SERVING = [
    (server_that_never_answers, 4, Deadlock,
     "Deadlock: rank 0 waits for any rank, and ranks 1, 2, 3 wait for rank 0.",
     "waits for any of ranks 1, 2, 3",
     "What to try: ranks 1, 2, 3 wait for answers, and rank 0 for a request. "
     r"Does rank 0 answer every request\?.*count the requests right\? A source of -1 means ANY"),
    (server_that_never_answers, 2, Deadlock, "any rank, and rank 1 waits for rank 0",
     "rank 1 waits for an answer, and rank 0 for a request"),
    (server_that_forgets_one_answer, 3, Deadlock, "Does rank 0 answer every request"),
    (server_with_open_receives, 3, Deadlock, "ranks 1, 2 wait for answers"),
    (server_that_counts_too_many, 3, Deadlock, "all have already returned",
     "rank 0 receives from ANY, and all others have returned"),
    (receives_that_nobody_serves, 3, Deadlock, "every rank receives before any rank sends"),
    (ring_of_open_receives, 3, Deadlock, "must send before it waits"),
]  # fmt: skip
