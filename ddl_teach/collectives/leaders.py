"""All-reduce by leaders: first inside each node, then between the first ranks of the nodes.

Cost: 2 ceil(log2 R) messages of n bytes inside a node of R ranks, and one all-reduce of n bytes on
the N leaders. Nodes may be unequal.
Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize collective
operation performance", 2000.
What to look at: on a `TwoLevel` network, which ranks send to another node, and how many bytes.
"""

from collections.abc import Callable
from typing import NamedTuple

from ddl_runtime.core.arrays import Array, Operation
from ddl_teach.collectives import ring, tree
from ddl_teach.collectives.blocks import check_root
from ddl_teach.comm import Comm, collective


class Levels(NamedTuple):
    """The ranks of this rank's node, and the leaders of all nodes (None on the other ranks)."""

    inside: Comm
    leaders: Comm | None


def split_by_node(comm: Comm, root: int = 0) -> Levels:
    """Form the groups, led by the root and the first of other nodes; all ranks must call it.

    Splitting costs messages: for many all-reduces, split once and pass `levels` to each.
    """
    check_root(comm, root)
    key = int(comm.rank != root)
    inside = comm.split(comm.node, key)
    return Levels(inside, comm.split(0 if inside.rank == 0 else None, key))


@collective
def allreduce(
    comm: Comm,
    x: Array,
    op: Operation = "sum",
    *,
    levels: Levels | None = None,
    between: Callable[[Comm, Array, Operation], None] = ring.allreduce,
) -> None:
    """Combine the `x` of all ranks, in place. `between` is the all-reduce that the leaders use."""
    inside, leaders = levels or split_by_node(comm)
    tree.reduce(inside, x, 0, op)
    if leaders is not None:
        between(leaders, x, op)
    tree.broadcast(inside, x)


@collective
def reduce(comm: Comm, x: Array, root: int = 0, op: Operation = "sum") -> None:
    """Combine all `x` in the root's `x`; the other ranks' `x` hold partial results afterwards."""
    inside, leaders = split_by_node(comm, root)
    tree.reduce(inside, x, 0, op)
    if leaders is not None:
        tree.reduce(leaders, x, 0, op)


@collective
def broadcast(comm: Comm, x: Array, root: int = 0) -> None:
    """Copy the root's `x` into every rank's `x`."""
    inside, leaders = split_by_node(comm, root)
    if leaders is not None:
        tree.broadcast(leaders, x)
    tree.broadcast(inside, x)
