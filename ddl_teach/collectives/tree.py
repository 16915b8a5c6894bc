"""Tree all-reduce: combine up a binomial tree, broadcast down the same tree.

Cost: 2 ceil(log2 P) (latency + n per_byte). No rank sends more than ceil(log2 P) n bytes and the
root is no bottleneck any more, but every level moves the whole vector: a tree for short ones.
Thakur et al. 2005.
What to look at: in every step of the broadcast twice as many ranks send; half of them never do.
"""

from ddl_runtime.core.arrays import Array, Operation, copy_into, empty_like, flat
from ddl_teach.collectives.blocks import blocks_on_root, check_root, room_for
from ddl_teach.comm import Comm, collective

# A rank's place is its distance from the root. The place p = ...1000 in binary stands below the
# place p - 1000 and above the places p + 100, p + 10 and p + 1; the root above all powers of two.


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place."""
    reduce(comm, x, 0, op)
    broadcast(comm, x, 0)


@collective
def reduce(comm: Comm, x: Array, root: int = 0, op: Operation = "sum") -> None:
    """Combine all `x` in the root's `x`; the other ranks' `x` hold partial results afterwards."""
    above, below, _ = relatives(comm, root)
    arriving = empty_like(x)
    for child, _ in below:
        comm.recv(arriving, child)
        comm.combine(x, arriving, out=x, op=op)
    if above is not None:
        comm.send(x, above)


@collective
def broadcast(comm: Comm, x: Array, root: int = 0) -> None:
    """Copy the root's `x` into every rank's `x`."""
    above, below, _ = relatives(comm, root)
    if above is not None:
        comm.recv(x, above)
    for child, _ in reversed(below):
        comm.send(x, child)


@collective
def gather(comm: Comm, x: Array, out: Array | None, root: int = 0) -> None:
    """Collect the blocks `x` of all ranks in the root's `out`; the others may give None.

    Twice as many blocks travel in each step: ceil(log2 P) latency + (P-1)/P n per_byte.
    """
    above, below, reach = relatives(comm, root)
    blocks = blocks_on_root(comm, out, x) if above is None else []
    held, length = room_for_subtree(comm, root, reach, x)
    copy_into(held[:length], x)
    for child, distance in below:
        comm.recv(held[distance * length : 2 * distance * length], child)
    if above is not None:
        comm.send(held, above)
    for number, block in enumerate(blocks):
        begin = (number - root) % comm.size * length
        copy_into(block, held[begin : begin + length])


@collective
def scatter(comm: Comm, x: Array | None, out: Array, root: int = 0) -> None:
    """Hand block r of the root's `x` to rank r's `out`; the others may give None as `x`."""
    above, below, reach = relatives(comm, root)
    blocks = blocks_on_root(comm, x, out) if above is None else []
    held, length = room_for_subtree(comm, root, reach, out)
    for number, block in enumerate(blocks):
        begin = (number - root) % comm.size * length
        copy_into(held[begin : begin + length], block)
    if above is not None:
        comm.recv(held, above)
    for child, distance in reversed(below):
        comm.send(held[distance * length : 2 * distance * length], child)
    copy_into(out, held[:length])


def relatives(comm: Comm, root: int) -> tuple[int | None, list[tuple[int, int]], int]:
    """The rank above this one, None for the root; those below with their distances; and how many
    places this one's subtree spans in a tree that is full: 1, 2, 4, ..."""
    check_root(comm, root)
    rank, size = comm.rank, comm.size
    place, reach, below = (rank - root) % size, 1, []
    while reach < size and place % (2 * reach) == 0:
        if place + reach < size:
            below.append(((rank + reach) % size, reach))
        reach *= 2
    return ((rank - reach) % size if place else None), below, reach


def room_for_subtree(comm: Comm, root: int, reach: int, block: Array) -> tuple[Array, int]:
    """A row for the blocks of this rank's subtree, in order of place, and one block's length."""
    length = len(flat(block))
    places = min(reach, comm.size - (comm.rank - root) % comm.size)
    return room_for(places * length, block), length
