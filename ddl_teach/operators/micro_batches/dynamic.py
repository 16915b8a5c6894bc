"""The best division of one batch under a limit: dynamic programming over its examples.

Whatever the last micro-batch is, the examples before it must have been divided in the best way.
With t(m) the time of the fastest method that can do m examples within the limit,

    T(0) = 0,        T(b) = min over m <= b of  T(b - m) + t(m)

so B times as many steps as there are sizes find the best of exponentially many divisions (Oyama,
Ben-Nun, Hoefler & Matsuoka 2018, where it is called WR: workspace reuse). What to look at: the
limit enters only by which offers are allowed, and that is why it picks the method.
"""

from __future__ import annotations

import math

from ddl_teach.operators.micro_batches.front import refusal
from ddl_teach.operators.micro_batches.offers import Division, Job, Offer


def divide(job: Job, limit: float = math.inf) -> Division:
    """The fastest division of the job's batch whose workspace is at most `limit` bytes."""
    allowed = job.within(limit)[::-1]  # large ones first: of equally fast divisions few parts
    seconds = [0.0] + [math.inf] * job.batch
    last: list[Offer | None] = [None] * (job.batch + 1)
    for done in range(1, job.batch + 1):
        for offer in allowed:
            if offer.size <= done and seconds[done - offer.size] + offer.seconds < seconds[done]:
                seconds[done] = seconds[done - offer.size] + offer.seconds
                last[done] = offer
    if last[job.batch] is None:
        raise refusal(job, limit)
    parts, left = [], job.batch
    while left:
        parts.append(last[left])
        left -= parts[-1].size
    return Division(tuple(parts))
