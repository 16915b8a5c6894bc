"""Near and far: what a message costs inside a node, and what between two.

Rank 0 plays ping-pong with a rank of its own node and with one of another node. They take turns,
so a disturbance of the machine hits both. Each way is a line of its own, ``latency + nbytes *
per_byte``: memory carries the one, cables the other. Those four numbers are all that an algorithm
with two levels needs to know of a cluster (Karonis et al. 2000). Played are few bytes and many,
the two ends that fix a line. In between nothing is straight: there libraries change their ways,
and a shaped cable lets a first burst through.
What to look at: the ratio of the latencies is not the ratio of the bandwidths.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ddl_measure.ping_pong import ping_pong
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm

Pings = dict[str, list]
"""Every message that was timed: its "bytes", and its "seconds" at the same place."""

ENDS = (1, 4, 16, 64, 256, 2**16, 2**18, 2**20)  # bytes
MOST_TURNS, MOST_BYTES = 20, 2**16  # of one game: long messages need no averaging


def nodes_of(comm: Comm) -> list[int]:
    """The node of every rank; all ranks call it."""
    nodes = np.zeros(comm.size, np.int64)
    nodes[comm.rank] = comm.node
    ring.allgather(comm, nodes)
    return nodes.tolist()


def near_and_far(
    comm: Comm,
    sizes: Sequence[int],
    repetitions: int,
    play: Callable[[Comm, int, int], float | None] = ping_pong,
) -> dict[str, Pings | None]:
    """Times "within" rank 0's node and "between" nodes, on rank 0; None without a partner.

    All ranks call it; those that do not play wait.
    """
    nodes = nodes_of(comm)
    partners = {
        "within": [rank for rank in range(1, comm.size) if nodes[rank] == nodes[0]],
        "between": [rank for rank in range(comm.size) if nodes[rank] != nodes[0]],
    }
    pairs = {
        way: comm.split(0 if comm.rank in (0, ranks[0]) else None)
        for way, ranks in partners.items()
        if ranks
    }
    pings: dict[str, Pings | None] = dict.fromkeys(partners)
    pings |= {way: {"bytes": [], "seconds": []} for way in pairs}
    for turn in range(repetitions + 1):
        for nbytes in sizes:
            for way, pair in pairs.items():
                if pair is None:
                    continue
                turns = max(1, min(MOST_TURNS, MOST_BYTES // max(1, nbytes)))
                seconds = play(pair, nbytes, turns)
                if turn and comm.rank == 0:  # the first turn makes the connections
                    pings[way]["bytes"].append(int(nbytes))
                    pings[way]["seconds"].append(float(seconds))
    comm.barrier()
    return pings
