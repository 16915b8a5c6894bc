"""Bruck's algorithms: few messages for many small blocks, whatever the number of ranks.

All-gather: ceil(log2 P) latency + (P-1)/P n per_byte. What a rank has doubles with each message.
All-to-all: ceil(log2 P) latency + about (log2 P)/2 n per_byte. Blocks travel in strides of 1, 2,
4, ..., so each is sent once for every 1 in its distance, written in binary.
Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in
multiport message-passing systems", 1997.
What to look at: both begin and end with a turn in memory.
"""

from ddl_runtime.core.arrays import Array, copy_into, empty_like, flat, split_evenly
from ddl_teach.collectives.blocks import blocks_to_exchange, chunk_start, room_for
from ddl_teach.comm import Comm, collective


@collective
def allgather(comm: Comm, x: Array) -> None:
    """Every rank contributes its own chunk of `x` and gets those of all others."""
    rank, size, row = comm.rank, comm.size, flat(x)
    length = len(row)
    first = chunk_start(length, rank, size)

    def end(chunks: int, of: int = rank) -> int:
        """The elements of `turned` in the first `chunks` chunks, on rank `of`."""
        return chunk_start(length, of + chunks, size) - chunk_start(length, of, size)

    turned = empty_like(row)  # begins with my own chunk, then come those of the ranks above
    copy_into(turned[: end(1)], row[first : first + end(1)])
    distance = 1
    while distance < size:
        count = min(distance, size - distance)
        above, below = (rank + distance) % size, (rank - distance) % size
        incoming = turned[end(distance) : end(distance + count)]
        comm.sendrecv(turned[: end(count)], below, incoming, above)
        distance *= 2
    copy_into(row[first:], turned[: length - first])
    copy_into(row[:first], turned[length - first :])


@collective
def alltoall(comm: Comm, x: Array, out: Array) -> None:
    """Block s of rank r's `x` becomes block r of rank s's `out`."""
    rank, size = comm.rank, comm.size
    outgoing, incoming = blocks_to_exchange(comm, x, out)
    # Block d has still to travel d ranks up; what it has travelled is taken off bit by bit.
    travelling = [empty_like(block) for block in outgoing]
    for distance, block in enumerate(travelling):
        copy_into(block, outgoing[(rank + distance) % size])
    stride = 1
    while stride < size:
        moving = [travelling[distance] for distance in range(size) if distance & stride]
        packed = room_for(sum(len(block) for block in moving), x)
        arriving = empty_like(packed)
        for place, block in zip(split_evenly(packed, len(moving)), moving, strict=True):
            copy_into(place, block)
        comm.sendrecv(packed, (rank + stride) % size, arriving, (rank - stride) % size)
        for place, block in zip(split_evenly(arriving, len(moving)), moving, strict=True):
            copy_into(block, place)
        stride *= 2
    for distance, block in enumerate(travelling):
        copy_into(incoming[(rank - distance) % size], block)
