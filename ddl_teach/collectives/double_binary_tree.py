"""Double binary tree: each of two trees combines half of the vector, in chunks under way at once.

In one pipelined tree half of the ranks are leaves, which receive and never forward. A second tree
of the ranks in opposite order makes them its inner ranks, so that all links carry as much. For k
chunks a tree, of m = n / 2k bytes, it takes about

    2 ceil(log2 P) (latency + 2 m per_byte) + 2 n per_byte

the bytes of a ring, with the latency of a tree. Sanders et al. 2009; Jeaugey, "Massively scale
your deep learning training with NCCL 2.4", NVIDIA developer blog, 2019.
What to look at: a rank that forwards in one tree is a leaf of the other.
"""

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ddl_runtime.core.arrays import Array, Operation, describe, empty_like, flat
from ddl_teach.comm import Comm, collective, split_evenly

Waiting = tuple[Iterator[list[Any]], list[Any]]  # a chunk's way, and requests that it waits for
CHUNK, MOST = 2**16, 16  # bytes of a chunk; chunks of a tree


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place."""
    chunks = min(MOST, max(1, describe(x)[0] // (2 * CHUNK)))
    trees = [split_evenly(half, chunks) for half in split_evenly(flat(x), 2)]
    families = [relatives(comm, second) for second in (False, True)]
    lines = [[deque[Waiting]() for _ in range(6)] for _ in families]  # of chunks as far as another
    for k in range(2 * chunks):
        way = _passing(comm, trees[k % 2][k // 2], families[k % 2], 2 * k, op)
        lines[k % 2][0].append((way, []))
    while True:
        for line, farther in (pair for tree in lines for pair in pairwise(tree)):
            while line and not line[0][1]:
                way, _ = line.popleft()
                following = next(way, None)
                if following is not None:
                    farther.append((way, following))
        # A relative sends its chunks in order, so only the first of each line can be the next.
        heads = [line[0][1] for tree in lines for line in tree if line]
        if not heads:
            return
        every = [request for requests in heads for request in requests]
        done = every[comm.wait_any(every)]
        next(requests for requests in heads if done in requests).remove(done)


def relatives(comm: Comm, second: bool) -> tuple[int | None, list[int]]:
    """The rank above, None for a root, and those below, in the first or the second tree."""
    size, order = comm.size, range(comm.size)  # the rank at each place
    if second:
        order = range(1, size + 1) if size % 2 else order[::-1]
    place = (comm.rank - order[0]) * order.step % size
    reach = place & -place if place else 1 << (size - 1).bit_length()
    below = []
    for side in (-1, 1) if place else (1,):
        distance = reach // 2
        while distance and place + side * distance >= size:
            distance //= 2
        if distance:
            below.append(order[place + side * distance] % size)
    if not place:
        return None, below
    # The parent's place: the lowest bit cleared, and the next one set if that place exists.
    parent = (place ^ reach) | (2 * reach)
    return order[parent if parent < size else place ^ reach] % size, below


def _passing(
    comm: Comm, x: Array, family: tuple[int | None, list[int]], tag: int, op: Operation
) -> Iterator[list[Any]]:
    """One chunk's way up and down; yields the requests that must be done before it goes on."""
    above, below = family
    rooms = [empty_like(x) for _ in below]
    yield [comm.irecv(room, child, tag) for room, child in zip(rooms, below, strict=True)]
    for room in rooms:
        comm.combine(x, room, out=x, op=op)
    if above is not None:
        yield [comm.isend(x, above, tag)]
        yield [comm.irecv(x, above, tag + 1)]
    yield [comm.isend(x, child, tag + 1) for child in below]
