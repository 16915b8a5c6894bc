"""Which divisions can be the best one, under any limit: the Pareto front of time and workspace.

A division is *desirable* if no other one of the same batch is at least as fast and at least as
small. All others can be forgotten, and not only at the end:

    D(0) = {nothing},   D(b) = desirable part of {d + m : m an offer, d in D(b - size of m)}

Nothing is lost: seconds add up and the workspace is the largest one, and neither shrinks when a
part grows; so wherever a dominated d' stands in a division, d in its place makes it no slower and
no larger. The same holds for a network, where the rooms of jobs add up (Oyama, Ben-Nun, Hoefler &
Matsuoka 2018). What to look at: the fronts have a handful of points out of millions of divisions.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Division, Offer, TooLittle


class _Point(NamedTuple):
    """A division, and what it adds up to."""

    workspace: int
    seconds: float
    parts: tuple[Offer, ...] = ()


def pareto(workspace: Sequence[float], seconds: Sequence[float]) -> np.ndarray:
    """The places of the points that no other one dominates, each once, by growing workspace."""
    workspace, seconds = np.asarray(workspace), np.asarray(seconds, float)
    order = np.lexsort((seconds, workspace))
    ordered = seconds[order]
    # A point counts if it is faster than everything that needs no more room.
    before = np.minimum.accumulate(np.concatenate([[math.inf], ordered[:-1]]))
    return order[ordered < before]


def desirable(job: DivisibleBatch) -> tuple[Division, ...]:
    """The job's front: divisions by growing workspace, each faster than all before it."""
    by_size = groupby(sorted(job.offers, key=attrgetter("size")), attrgetter("size"))
    offers = [offer for _, alike in by_size for offer in _undominated(list(alike))]
    fronts = [[_Point(0, 0.0)]]
    for done in range(1, job.batch + 1):
        points = [
            _Point(max(d.workspace, offer.workspace), d.seconds + offer.seconds, (*d.parts, offer))
            for offer in offers
            if offer.size <= done
            for d in fronts[done - offer.size]
        ]
        fronts.append(_undominated(points))
    return tuple(Division(point.parts) for point in fronts[job.batch])


def refusal(job: DivisibleBatch, limit: float) -> TooLittle | None:
    """The error if no division of the job needs at most `limit` bytes, with the limit that would
    do. None if one fits."""
    front = desirable(job)
    if not front:
        sizes = sorted({offer.size for offer in job.offers})
        begin = f"{job.name}: no sizes among {sizes} add up to {job.batch} examples, whatever the"
        return TooLittle(f"{begin} limit: offer pieces of 1 example", math.inf)
    needed = front[0].workspace
    if needed <= limit:
        return None
    begin = f"{job.name}: no division of {job.batch} examples fits into {limit:,.0f} bytes"
    return TooLittle(f"{begin}; the smallest workspace that would do is {needed:,}", needed)


def _undominated(points: list[Any]) -> list[Any]:
    """The points, or offers, that no other dominates, by growing workspace."""
    kept = pareto([point.workspace for point in points], [point.seconds for point in points])
    return [points[place] for place in kept]
