"""Data parallelism: what a step sends, and when it is over.

Averaging n bytes of gradients in buckets of n_1, n_2, ... bytes takes T(n_1), T(n_2), ... for
their all-reduces, T(n) = 2 (P-1) (L + n/P G) by the ring. Bucket b is full at time r_b of the
backward pass. One bucket after the other:

    end_b = max(r_b, end_(b-1)) + T(n_b)        step = forward + max(backward, end_B) + update

Without overlap the step is forward + backward + sum T(n_b) + update. One bucket for each tensor
pays the latency K times; one giant bucket begins when there is nothing left to hide behind. Li et
al., "PyTorch distributed: experiences on accelerating data parallel training", VLDB 2020.
What to look at: the last bucket never hides.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate

from ddl_teach.theory import ring_bytes


def bucket_groups(nbytes: Sequence[float], limit: float) -> list[list[int]]:
    """Which of the gradients, in the order in which they are ready, share a bucket of `limit`
    bytes; one that is larger has a bucket of its own.

    >>> bucket_groups([40, 40, 10, 500], limit=100)
    [[0, 1, 2], [3]]
    """
    groups: list[list[int]] = []
    used = 0.0
    for index, size in enumerate(nbytes):
        if not groups or used + size > limit:
            groups.append([])
            used = 0.0
        groups[-1].append(index)
        used += size
    return groups


def last_first(nbytes: Sequence[float], limit: float) -> list[list[int]]:
    """Which parameters share a bucket: the last ones first, as a backward pass finishes them.

    >>> last_first([500, 10, 40, 40], limit=100)
    [[3, 2, 1], [0]]
    """
    last = len(nbytes) - 1
    groups = bucket_groups(list(reversed(nbytes)), limit)
    return [[last - index for index in group] for group in groups]


def gpt2_gradients(width: int = 768, blocks: int = 12) -> list[int]:
    """How many numbers each of GPT-2's arrays has, in the order in which gradients are ready: by
    default 148 arrays, 124 million numbers (Radford et al. 2019)."""
    w = width
    attention = [w, w, 3 * w * w, 3 * w, w * w, w]  # a norm, then queries, keys, values; out
    layers = [w, w, 4 * w * w, 4 * w, 4 * w * w, w]
    return [50257 * w, 1024 * w, *(attention + layers) * blocks, w, w][::-1]


def bytes_sent(elements: Sequence[int], ranks: int, rank: int, itemsize: int) -> int:
    """What this rank sends in a step, by the ring, for buckets of these numbers of elements."""
    return sum(ring_bytes.allreduce(size, ranks, rank, itemsize) for size in elements)


def bucket_ends(ready: Sequence[float], seconds: Sequence[float]) -> list[float]:
    """When each all-reduce is over: max(bucket is full, end of the one before) + its own time.

    >>> bucket_ends(ready=[1.0, 2.0, 3.0], seconds=[1.5, 1.5, 1.5])
    [2.5, 4.0, 5.5]
    """
    ends: list[float] = []
    for full, taken in zip(ready, seconds, strict=True):
        ends.append(max(full, ends[-1] if ends else 0.0) + taken)
    return ends


def step_time(
    backward: Sequence[float],
    nbytes: Sequence[float],
    limit: float,
    allreduce: Callable[[float], float],
    *,
    overlapped: bool = True,
) -> float:
    """Seconds from the begin of the backward pass until all gradients are averaged.

    `backward[k]` is how long the pass needs for the gradient that is ready k-th, of `nbytes[k]`
    bytes; `allreduce(n)` is the time of one all-reduce of n bytes.
    """
    groups = bucket_groups(nbytes, limit)
    over = list(accumulate(backward))
    taken = [allreduce(sum(nbytes[index] for index in group)) for group in groups]
    ready = [over[group[-1]] if overlapped else over[-1] for group in groups]
    return bucket_ends(ready, taken)[-1]
