"""Linear all-reduce: every rank sends to one root, which combines and sends the result back.

Cost: 2 (latency + (P-1) n per_byte), because all P-1 messages pass the root's one port. It is the
parameter server in its simplest form. Ben-Nun and Hoefler, "Demystifying parallel and distributed
deep learning", 2019, call it the all-reduce to one; textbooks the flat tree.
What to look at: the root's line on the timeline is full, the others' are empty.
"""

from ddl_runtime.core.arrays import Array, Operation, copy_into, empty_like
from ddl_teach.collectives.blocks import blocks_on_root, check_root
from ddl_teach.comm import Comm, collective


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place."""
    reduce(comm, x, 0, op)
    broadcast(comm, x, 0)


@collective
def reduce(comm: Comm, x: Array, root: int = 0, op: Operation = "sum") -> None:
    """Combine all `x` in the root's `x`; here the other ranks' `x` stay as they are."""
    check_root(comm, root)
    if comm.rank != root:
        comm.send(x, root)
        return
    arriving = empty_like(x)
    for source in others(comm):
        comm.recv(arriving, source)
        comm.combine(x, arriving, out=x, op=op)


@collective
def broadcast(comm: Comm, x: Array, root: int = 0) -> None:
    """Copy the root's `x` into every rank's `x`."""
    check_root(comm, root)
    if comm.rank != root:
        comm.recv(x, root)
        return
    for to in others(comm):
        comm.send(x, to)


@collective
def gather(comm: Comm, x: Array, out: Array | None, root: int = 0) -> None:
    """Collect the blocks `x` of all ranks in the root's `out`; the others may give None."""
    check_root(comm, root)
    if comm.rank != root:
        comm.send(x, root)
        return
    blocks = blocks_on_root(comm, out, x)
    copy_into(blocks[root], x)
    for source in others(comm):
        comm.recv(blocks[source], source)


@collective
def scatter(comm: Comm, x: Array | None, out: Array, root: int = 0) -> None:
    """Hand block r of the root's `x` to rank r's `out`; the others may give None as `x`."""
    check_root(comm, root)
    if comm.rank != root:
        comm.recv(out, root)
        return
    blocks = blocks_on_root(comm, x, out)
    copy_into(out, blocks[root])
    for to in others(comm):
        comm.send(blocks[to], to)


@collective
def scan(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Rank after rank adds its `x` and passes the sum on: x of ranks 0 .. rank, in place."""
    if comm.rank > 0:
        before = empty_like(x)
        comm.recv(before, comm.rank - 1)
        comm.combine(before, x, out=x, op=op)
    if comm.rank + 1 < comm.size:
        comm.send(x, comm.rank + 1)


def others(comm: Comm) -> list[int]:
    """All ranks but this one, in order."""
    return [rank for rank in range(comm.size) if rank != comm.rank]
