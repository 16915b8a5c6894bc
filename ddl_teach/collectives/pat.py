"""PAT, parallel aggregated trees: all-gather and reduce-scatter in few messages, near ones last.

Each rank is the root of a tree for its own chunk, and chunks of many trees share a message. With
Q = 2^ceil(log2 P) and A = min(`most`, Q) chunks in a message it takes

    (log2 A + min(Q/A, P) - 1) latency + (P-1)/P n per_byte

for any P. Bruck's all-gather sends as many, but its last and longest messages go farthest.
Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2025;
in NCCL since 2.23, for these two collectives. Together they make an all-reduce.
What to look at: half of all bytes go to the next rank, which often is on the same node.
"""

from collections.abc import Iterator
from functools import lru_cache

from ddl_runtime.core.arrays import Array, Operation, copy_into, flat, split_evenly
from ddl_teach.collectives.blocks import chunk_start, room_for
from ddl_teach.comm import Comm, Phantom, collective

UNLIMITED = 2**62


@collective
def reduce_scatter(comm: Comm, x: Array, op: Operation = "sum", most: int = UNLIMITED) -> Array:
    """Return this rank's chunk of the combination of all `x`; the rest of `x` is scratch."""
    for place, arrived in _messages(comm, x, most, forward=False):
        comm.combine(place, arrived, out=place, op=op)
    row, size = flat(x), comm.size
    first, end = (chunk_start(len(row), rank, size) for rank in (comm.rank, comm.rank + 1))
    return row[first:end]


@collective
def allgather(comm: Comm, x: Array, most: int = UNLIMITED) -> None:
    """Every rank contributes its own chunk of `x` and gets those of all others."""
    for place, arrived in _messages(comm, x, most, forward=True):
        copy_into(place, arrived)


@lru_cache(maxsize=4)  # the same for all ranks
def steps(ranks: int, most: int) -> tuple[tuple[int, list[int]], ...]:
    """For each message (distance, offsets): rank r sends the chunks r - offset to r + distance."""
    if most < 1 or most.bit_count() != 1:
        raise ValueError(f"a message cannot hold {most} chunks: give a power of two, 1, 2, 4, ...")
    return tuple(_branch([0], 1 << (ranks - 1).bit_length(), ranks, most))


def _branch(held: list[int], reach: int, ranks: int, most: int) -> Iterator[tuple[int, list[int]]]:
    while reach > 1:
        reach //= 2
        moving = [below for below in held if below + reach < ranks]
        arrived = [below + reach for below in moving]
        if moving:
            yield reach, moving
        if most > 1:
            held, most = held + arrived, most // 2
        else:
            yield from _branch(arrived, reach, ranks, 1)


def _messages(comm: Comm, x: Array, most: int, forward: bool) -> Iterator[tuple[Array, Array]]:
    """Exchange one message after another; give each chunk's place in `x` and what arrived."""
    rank, size, row = comm.rank, comm.size, flat(x)
    counted = row.__class__ is Phantom and len(row) % size == 0  # needs no list of all chunks
    chunks = [] if counted else split_evenly(row, size)
    order = steps(size, most)
    for distance, offsets in order if forward else reversed(order):
        ends = [(rank + distance) % size, (rank - distance) % size]
        if counted:
            outgoing = places = [row[: len(offsets) * (len(row) // size)]]
        else:
            outgoing = [chunks[rank - below] for below in offsets]
            places = [chunks[(rank - distance - below) % size] for below in offsets]
        if not forward:
            outgoing, places, ends = places, outgoing, ends[::-1]
        packed, arriving = (room_for(sum(map(len, each)), row) for each in (outgoing, places))
        end = 0
        for part in outgoing:
            copy_into(packed[end : end + len(part)], part)
            end += len(part)
        comm.sendrecv(packed, ends[0], arriving, ends[1])
        for place in places:
            yield place, arriving[: len(place)]
            arriving = arriving[len(place) :]
