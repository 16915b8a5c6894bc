"""How sums of sparse vectors fill in, and what a sparse all-reduce of them costs.

Of N places each of P ranks has an entry at k. Where ranks choose independently, a place stays
empty with the chance (1 - k/N)^P, so the sum is expected to have

    K(P) = N (1 - (1 - k/N)^P)

entries: nearly P k at first, and N in the end. It turns dense after log(1 - d) / log(1 - k/N)
ranks. Here d = b / (b + 4): up to this density numbers of b bytes with their indices are the
smaller message. With a chance of its own for each place K(P) = sum of 1 - (1 - chance)^P, never
more than with equal chances: where some places are popular, the sum fills in more slowly.

Renggli et al., "SparCML", SC 2019, section 5 and appendix. What to look at: at a density of 1% the
sum of 70 ranks is half full.
"""

import math

import numpy as np

from ddl_teach.theory.inputs import ceil_log2, count, floor_log2, power_of_two
from ddl_teach.theory.machine import Link

INDEX_BYTES = 4
LENGTH_BYTES = 8  # go ahead of every message, for only the sender knows how long it is


def union(size: int, entries: float, ranks: int) -> float:
    """The expected entries of the sum of ranks that have `entries` of `size` at random places."""
    _check(size, entries, ranks)
    return size * -math.expm1(ranks * math.log1p(-entries / size)) if entries < size else size


def union_of_chances(chances: np.ndarray, ranks: int) -> float:
    """The expected entries where each place has its own chance of an entry on a rank."""
    count("ranks", ranks)
    chances = np.asarray(chances, dtype=float)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise ValueError("chances must be between 0 and 1: divide a count by the number of tries")
    return float((1 - (1 - chances) ** ranks).sum())


def stream_bytes(size: float, entries: float, itemsize: int = 4) -> float:
    """A vector of `size` numbers, `entries` of them not zero, as the smaller of two messages."""
    return min(entries * (itemsize + INDEX_BYTES), size * itemsize)


def recursive_doubling_bytes(size: int, entries: float, ranks: int, itemsize: int = 4) -> float:
    """What a rank is expected to send, for P a power of two: the sums of 1, 2, 4, ... ranks."""
    power_of_two("sparse recursive doubling", count("ranks", ranks))
    return sum(
        LENGTH_BYTES + stream_bytes(size, union(size, entries, 2**step), itemsize)
        for step in range(floor_log2(ranks))
    )


def split_bytes(size: int, entries: float, ranks: int, itemsize: int = 4) -> float:
    """What a rank is expected to send to the owners of the P-1 other parts."""
    _check(size, entries, ranks)
    part = stream_bytes(size / ranks, entries / ranks, itemsize)
    return (ranks - 1) * (LENGTH_BYTES + part)


def gather_bytes(size: int, entries: float, ranks: int, itemsize: int = 4) -> float:
    """What a rank is expected to send in the all-gather, if the parts of the sum are sparse."""
    part = stream_bytes(size / ranks, union(size, entries, ranks) / ranks, itemsize)
    return (ranks - 1) * (LENGTH_BYTES + part)


def dense_gather_bytes(size: int, ranks: int, bits: float = 32) -> float:
    """The bytes that a rank sends in the all-gather if the parts are dense, with `bits` bits for
    each number."""
    count("ranks", ranks)
    return (ranks - 1) * (LENGTH_BYTES + size / ranks * bits / 8)


def recursive_doubling(
    size: int, entries: float, ranks: int, link: Link, itemsize: int = 4
) -> float:
    """Seconds of the sparse recursive doubling: log2 P (L + 8 G), and the streams."""
    nbytes = recursive_doubling_bytes(size, entries, ranks, itemsize)
    return floor_log2(ranks) * link.latency + nbytes * link.per_byte


def split_allgather(
    size: int,
    entries: float,
    ranks: int,
    link: Link,
    itemsize: int = 4,
    dense_bits: float | None = None,
) -> float:
    """Seconds of split and all-gather; with `dense_bits` the second phase is dense. The split pays
    one latency, for its messages leave one after another, and the all-gather ceil(log2 P)."""
    nbytes = split_bytes(size, entries, ranks, itemsize)
    if dense_bits is None:
        nbytes += gather_bytes(size, entries, ranks, itemsize)
    else:
        nbytes += dense_gather_bytes(size, ranks, dense_bits)
    steps = ceil_log2(ranks) + (ranks > 1)
    return steps * link.latency + nbytes * link.per_byte


def _check(size: int, entries: float, ranks: int) -> None:
    count("size", size)
    count("ranks", ranks)
    if not 0 <= entries <= size:
        raise ValueError(f"entries={entries} of size={size}: a vector has 0 to {size} of them")
