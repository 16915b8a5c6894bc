"""Double binary tree: two trees sum half a vector each; a rank inside one is a leaf of the other.

In one pipelined tree half of the ranks are leaves and never forward anything. In the second tree
ranks stand in the opposite order, so each rank forwards in one tree at most: all links are busy.
Cost for chunks of m bytes: about 2 ceil(log2 P) (latency + 2 m per_byte) + 2 n per_byte, the bytes
of a ring with the latency of a tree. Sanders, Speck and Träff, "Two-tree algorithms for full
bandwidth broadcast, reduction and scan", Parallel Computing 35(12), 2009; in NCCL since 2.4.
What to look at: odd places are leaves, and a mirror turns odd into even where P is even.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ddl_teach import Comm


def parent(place: int, ranks: int) -> int:
    """The place above one that is not 0: at the distance of its lowest bit, up or else down."""
    lowest = place & -place
    above = (place ^ lowest) | (2 * lowest)
    return above if above < ranks else place ^ lowest


def relatives(rank: int, ranks: int, second: bool) -> tuple[int | None, list[int]]:
    """The rank above and those below this one, in the first or the second tree."""
    order = list(range(ranks))
    if second:
        order = [*order[1:], 0] if ranks % 2 else order[::-1]
    place = order.index(rank)
    below = [order[other] for other in range(1, ranks) if parent(other, ranks) == place]
    return (order[parent(place, ranks)] if place else None), below


def passing(comm: Comm, x: np.ndarray, second: bool, tag: int) -> Iterator[list[Any]]:
    """The way of one chunk up and down; yields requests that must be done before it goes on."""
    above, below = relatives(comm.rank, comm.size, second)
    rooms = [np.empty_like(x) for _ in below]
    yield [comm.irecv(room, child, tag) for room, child in zip(rooms, below, strict=True)]
    x += sum(rooms)
    if above is not None:
        yield [comm.isend(x, above, tag)]
        yield [comm.irecv(x, above, tag + 1)]
    yield [comm.isend(x, child, tag + 1) for child in below]


def allreduce(comm: Comm, x: np.ndarray, chunks: int = 8) -> None:
    """Sum the `x` of all ranks, in place; each chunk goes on as soon as it can."""
    trees = [np.array_split(half, chunks) for half in np.array_split(x, 2)]
    ways = [(trees[k % 2][k // 2], bool(k % 2), 2 * k) for k in range(2 * chunks)]
    waiting: dict[Iterator[list[Any]], list[Any]] = {passing(comm, *way): [] for way in ways}
    while waiting:
        for chunk in [chunk for chunk, requests in waiting.items() if not requests]:
            waiting[chunk] = next(chunk, [None])
        waiting = {chunk: requests for chunk, requests in waiting.items() if requests != [None]}
        if waiting and all(waiting.values()):
            every = [request for requests in waiting.values() for request in requests]
            done = every[comm.wait_any(every)]
            next(requests for requests in waiting.values() if done in requests).remove(done)
