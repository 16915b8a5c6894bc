"""PAT, parallel aggregated trees: all-gather and reduce-scatter in few messages, near ones last.

Each rank is the root of a tree for its own chunk, and chunks of many trees share a message. The
farthest step comes first, with one chunk; the longest messages go to near ranks. A message holds
at most `most` chunks, a power of two; if more have to go, one branch is done before the next.
Cost: (log2 A + min(Q/A, P) - 1) latency + (P-1)/P n per_byte, with Q = 2^ceil(log2 P) and
A = min(most, Q). Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at
scale", 2025.
What to look at: with most = 1 it takes as many steps as a ring, with most = Q only log2 Q.
"""

from collections.abc import Iterator

import numpy as np

from ddl_teach import Comm


def steps(held: list[int], reach: int, ranks: int, most: int) -> Iterator[tuple[int, list[int]]]:
    """For each message (distance, offsets): rank r sends the chunks r - offset to r + distance."""
    while reach > 1:
        reach //= 2
        moving = [below for below in held if below + reach < ranks]
        arrived = [below + reach for below in moving]
        if moving:
            yield reach, moving
        if most > 1:
            held, most = held + arrived, most // 2
        else:
            yield from steps(arrived, reach, ranks, 1)


def allgather(comm: Comm, x: np.ndarray, most: int = 2**16, back: bool = False) -> None:
    """Fill in the other ranks' chunks of `x`; or `back`: send all chunks back and add them up."""
    rank, size, chunks = comm.rank, comm.size, np.array_split(x, comm.size)
    order = list(steps([0], 1 << (size - 1).bit_length(), size, most))
    for distance, offsets in reversed(order) if back else order:
        near = [chunks[rank - below] for below in offsets]
        far = [chunks[(rank - distance - below) % size] for below in offsets]
        outgoing, places, forth = (far, near, -distance) if back else (near, far, distance)
        arriving = np.concatenate(places)
        comm.sendrecv(
            np.concatenate(outgoing), (rank + forth) % size, arriving, (rank - forth) % size
        )
        for place in places:
            place[:] = arriving[: len(place)] + (place if back else 0)
            arriving = arriving[len(place) :]


def reduce_scatter(comm: Comm, x: np.ndarray, most: int = 2**16) -> np.ndarray:
    """Return chunk r of the sum on rank r: the all-gather backwards, and sums for copies."""
    allgather(comm, x, most, back=True)
    return np.array_split(x, comm.size)[comm.rank]
