"""Two-level all-reduce: sum inside each node, then each part across the nodes, then copy inside.

Cost with N nodes of R ranks each: 2 (R-1) (latency + n/R per_byte) for the rings inside a node.
Between nodes, with the costs of that network, 2 (N-1) (latency + n/(N R) per_byte), if every rank
has a card of its own. Forming the groups is not counted.
Cho et al., "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network
hierarchy", MLSys 2019.
What to look at: every rank sends to other nodes, and only its part.
"""

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain import ring_allreduce


def allreduce(comm: Comm, x: np.ndarray) -> None:
    """Replace `x` on every rank by the sum of all ranks' `x`. Nodes have equally many ranks."""
    node = comm.split(comm.node)
    across = comm.split(node.rank)  # the ranks of all nodes that have the same part
    part = ring_allreduce.reduce_scatter(node, x)
    ring_allreduce.allreduce(across, part)
    ring_allreduce.allgather(node, x)
