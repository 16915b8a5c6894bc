"""Two-level all-reduce: sum inside each node, then between the nodes, then copy inside each node.

Cost with N nodes of R ranks: 2 ceil(log2 R) (latency + n per_byte) inside a node, and between
nodes, with the costs of that network, the ring's 2 (N-1) (latency + n/N per_byte). A rank that
leads no node sends nothing to another node. Forming the groups is not counted.
Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize collective
operation performance", 2000.
What to look at: how many ranks send to another node, and how many bytes.
"""

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain import ring_allreduce, tree_broadcast


def allreduce(comm: Comm, x: np.ndarray) -> None:
    """Replace `x` on every rank by the sum of all ranks' `x`."""
    node = comm.split(comm.node)
    leaders = comm.split(0 if node.rank == 0 else None)  # None on ranks that lead no node
    tree_broadcast.reduce(node, x)
    if leaders is not None:
        ring_allreduce.allreduce(leaders, x)
    tree_broadcast.broadcast(node, x)
