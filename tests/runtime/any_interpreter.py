"""Simulations that any interpreter must run alike: what they give, as lines of JSON."""

import json

import numpy as np

from ddl_teach import ANY, Phantom, simulate
from ddl_teach.collectives import rabenseifner, recursive_doubling, ring, tree
from ddl_teach.comm import FatTree, Machine, Uniform


def summed(comm, allreduce, length):
    x = np.arange(length, dtype=np.float64) * (comm.rank + 1)
    allreduce(comm, x)
    return x.sum()


def any_source(comm):
    if comm.rank:
        comm.work(1e-6 * (comm.size - comm.rank))
        comm.send(np.full(3, comm.rank), 0)
        return None
    y = np.empty(3, int)
    return [comm.recv(y, ANY) for _ in range(comm.size - 1)]


def in_the_background(comm):
    x = np.ones(100)
    request = comm.background(ring.allreduce, x)
    comm.work(1e-3)
    request.wait()
    return x.sum()


def in_a_ring(comm):
    comm.recv(np.empty(3), (comm.rank + 1) % comm.size)


def of_other_sizes(comm):
    comm.sendrecv(np.ones(3), comm.rank ^ 1, np.empty(2), comm.rank ^ 1)


def changes_what_it_sends(comm):
    x = np.ones(3)
    request = comm.isend(x, comm.rank ^ 1)
    x[0] = 2
    comm.recv(np.empty(3), comm.rank ^ 1)
    request.wait()


def never_ends(comm):
    while comm.rank == 1:
        pass
    comm.recv(np.empty(3), 1)


def phantoms(comm):
    ring.allreduce(comm, Phantom(1 << 20))


ALGORITHMS = (ring, rabenseifner, recursive_doubling, tree)
JITTER = Machine(jitter=0.1, latency_jitter=0.1, seed=3)
SIMULATIONS = {
    f"{algorithm.__name__} on {ranks}": lambda algorithm=algorithm, ranks=ranks: simulate(
        summed, ranks, allreduce=algorithm.allreduce, length=37
    )
    for algorithm in ALGORITHMS
    for ranks in (1, 2, 3, 4, 5, 8)
} | {
    "a slow network": lambda: simulate(phantoms, 64, network=Uniform(1e-3, 1e6)),
    "shared links": lambda: simulate(phantoms, 64, network=FatTree(ports=8)),
    "jitter": lambda: simulate(summed, 8, machine=JITTER, allreduce=ring.allreduce, length=37),
    "strict": lambda: simulate(summed, 8, strict=True, allreduce=tree.allreduce, length=37),
    "memory": lambda: simulate(phantoms, 8, memory=1e9),
    "symmetric": lambda: simulate(phantoms, 1024, symmetric=True),
    "any source": lambda: simulate(any_source, 5),
    "background": lambda: simulate(in_the_background, 4),
    "a late one": lambda: simulate(never_ends, 3, timeout=1),
    "a deadlock": lambda: simulate(in_a_ring, 3),
    "other sizes": lambda: simulate(of_other_sizes, 2),
    "a buffer that changes": lambda: simulate(changes_what_it_sends, 2, strict=True),
}


def outcome(simulation):
    """Results, time, messages and timeline to the last bit, or the error."""
    try:
        run = simulation()
    except Exception as error:
        return [type(error).__name__, str(error)]
    books = [[tuple(message) for message in book.messages] for book in run.ledger]
    return [repr(run.results), run.time.hex(), repr(books), repr(run.timeline.spans)]


if __name__ == "__main__":
    for name in SIMULATIONS:
        print(json.dumps([name, *outcome(SIMULATIONS[name])]), flush=True)
