"""The usual mistakes of unit 20's puzzle, and words of the message that must name each."""

from ddl_class.notebook.among_nodes import allreduce
from ddl_teach.collectives import ring

NODES = [rank // 4 for rank in range(16)]


def fast_nodes_alone(comm, x):
    """Ranks 12 to 15 sum for themselves."""
    ring.allreduce(comm.split(comm.rank // 12), x)


def never_back(comm, x):
    """What the last node has is added, and the sum does not come back."""
    inside, peers = comm.split(comm.rank // 4), comm.split(comm.rank % 4)
    fast = comm.split(comm.rank // 12)
    ring.allreduce(inside, x)
    if peers.rank == 3 and inside.rank == 0:
        peers.send(x, 2)
    if peers.rank == 2 and inside.rank == 0:
        theirs = x.copy()
        peers.recv(theirs, 3)
        x += theirs
    if inside.rank and peers.rank < 3:
        x[...] = 0
    if peers.rank < 3:
        ring.allreduce(fast, x)


MISTAKES = [
    ("20.cable", ring.allreduce, "The goal is 12 ms"),
    ("20.bound", lambda n, cables: 2 * n / min(cables), "both directions"),
    ("20.bound", lambda n, cables: n * len(cables) / sum(cables), "the mean does not"),
    ("20.bound", lambda n, cables: n / max(cables), "the slowest one decides"),
    ("20.bound", lambda n, cables: n / sum(cables), "do not share it"),
    ("20.cable", lambda comm, x: allreduce(comm, x, NODES), "The goal is 12 ms"),
    ("20.cable", fast_nodes_alone, "missing on the other nodes"),
    ("20.cable", never_back, "send them the whole sum"),
    ("20.cable", lambda comm, x: None, "x itself is unchanged"),
]
