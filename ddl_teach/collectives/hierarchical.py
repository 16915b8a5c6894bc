"""Hierarchical all-reduce, by parts: first inside the nodes, then across them, then inside again.

    reduce-scatter inside    rank i of a node gets part i of the node's sum
    all-reduce across        part i, among the ranks i of all nodes; all R parts at the same time
    all-gather inside        every rank gets all parts

Cost on N nodes of R ranks: the ring's inside a node, 2 (R-1) (latency + n/R per_byte), and between
nodes an all-reduce of n/R bytes. All ranks of a node send to other nodes, so R cards share what
one leader would send through one; a single card carries no more than a leader's.
Nodes may be unequal: parts are as many as the smallest node has ranks, and a rank beyond gives its
vector to one of these first.
Cho et al., "BlueConnect", 2019.
What to look at: on a `TwoLevel` network, every rank sends to another node, and a part only.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ddl_runtime.core.arrays import Array, Operation, empty_like
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm, collective


class Groups(NamedTuple):
    """All ranks of this rank's node; how many parts there are; and of a rank that has a part the
    others of its node that have one, and those of all nodes that have the same."""

    node: Comm
    parts: int
    inside: Comm | None
    across: Comm | None


def form_groups(comm: Comm) -> Groups:
    """Form the groups; all ranks must call it.

    Splitting costs messages: for many all-reduces, split once and pass `groups` to each.
    """
    node = comm.split(comm.node)
    fewest = np.array([node.size])
    ring.allreduce(comm, fewest, "min")
    parts = int(fewest[0])
    has_part = node.rank < parts
    inside = node.split(0 if has_part else None)
    return Groups(node, parts, inside, comm.split(node.rank if has_part else None))


@collective
def allreduce(
    comm: Comm,
    x: Array,
    op: Operation = "sum",
    *,
    groups: Groups | None = None,
    between: Callable[[Comm, Array, Operation], None] = ring.allreduce,
) -> None:
    """Combine the `x` of all ranks, in place. `between` is the all-reduce across the nodes."""
    node, parts, inside, across = groups or form_groups(comm)
    if inside is None or across is None:
        node.send(x, node.rank % parts)
        node.recv(x, node.rank % parts)
        return
    guests = range(node.rank + parts, node.size, parts)
    arriving = empty_like(x) if guests else x
    for guest in guests:
        node.recv(arriving, guest)
        comm.combine(arriving, x, out=x, op=op)
    part = ring.reduce_scatter(inside, x, op)
    between(across, part, op)
    ring.allgather(inside, x)
    for guest in guests:
        node.send(x, guest)
