"""The best division of one batch under a limit: dynamic programming over its examples.

Whatever the last piece is, the examples before it must have been divided in the best way.
With t(m) the time of the fastest method that can do m examples within the limit,

    T(0) = 0,        T(b) = min over m <= b of  T(b - m) + t(m)

so B times as many steps as there are sizes find the best of exponentially many divisions (Oyama,
Ben-Nun, Hoefler & Matsuoka 2018, where it is called WR: workspace reuse). The limit enters only by
which offers are allowed.
"""

import math
from collections.abc import Mapping

from ddl_teach.operators.divided_batches.front import refusal
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Division


def best_sizes(batch: int, seconds: Mapping[int, float]) -> list[int]:
    """The pieces of the fastest division, from t(m) by size m; none where no sizes add up."""
    least = [0.0] + [math.inf] * batch
    last = [0] * (batch + 1)
    for done in range(1, batch + 1):
        for size, time in seconds.items():
            if size <= done and least[done - size] + time < least[done]:
                least[done], last[done] = least[done - size] + time, size
    pieces = []
    while last[batch]:
        pieces.append(last[batch])
        batch -= last[batch]
    return pieces


def divide(job: DivisibleBatch, limit: float = math.inf) -> Division:
    """The fastest division of the job's batch whose workspace is at most `limit` bytes."""
    # Large ones first: of divisions that are equally fast, one with few pieces.
    allowed = {offer.size: offer for offer in reversed(job.within(limit))}
    sizes = best_sizes(job.batch, {size: offer.seconds for size, offer in allowed.items()})
    if not sizes:
        raise refusal(job, limit)
    return Division(tuple(allowed[size] for size in sizes))
