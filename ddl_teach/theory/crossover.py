"""Which all-reduce to take: the sizes where one begins to beat another, and the fastest of all.

Every formula is a straight line over the size: few latencies with many bytes (recursive doubling)
start low and rise steeply, many latencies with few bytes (ring) start high and rise gently. Two
lines cross at one size,

    n* = (start_A - start_B) / (slope_B - slope_A),

and the winner over all sizes is the lower envelope of the lines. `linear` with an overhead has a
bend, at n = overhead / (G - g): from there on the root's port, not its processor, sets the pace.
So has recursive doubling, where few ranks fold. Thakur, Rabenseifner & Gropp (2005) choose MPICH's
algorithms this way. What to look at: how the crossing sizes grow with the number of ranks.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ddl_teach.theory.collectives import ALGORITHMS, formula
from ddl_teach.theory.inputs import ceil_log2, floor_log2
from ddl_teach.theory.machine import Link

Time = Callable[[float], float]  # of a size
ROUNDING = 1e-12  # relative difference below which two times count as the same


@dataclass(frozen=True)
class Crossover:
    """At `nbytes` two algorithms take the same time; `below` wins before, `above` after."""

    nbytes: float
    below: str
    above: str


def crossovers(first: str, second: str, ranks: int, link: Link) -> tuple[Crossover, ...]:
    """All sizes at which the faster of two algorithms becomes the slower, ascending: at most one
    between two bends."""
    pair = formula(first), formula(second)

    def lead(nbytes: float, link: Link = link) -> float:
        """The time that `second` saves; zero where they differ by rounding only."""
        first, other = (float(time(ranks, nbytes, link)) for time in pair)
        return 0.0 if math.isclose(first, other, rel_tol=ROUNDING) else first - other

    corners, levels = [0.0], floor_log2(ranks)
    if link.overhead > 0 and link.per_byte > link.per_byte_reduced:
        corners.append(link.overhead / (link.per_byte - link.per_byte_reduced))
    late = (levels - ceil_log2(ranks - 2**levels) - 1) * link.latency - 2 * link.overhead
    if late > 0 < link.per_byte:
        corners.append(late / link.per_byte)
    crossings = []
    for begin, end in pairwise([*sorted(corners), math.inf]):
        if end < math.inf:
            slope = (lead(end) - lead(begin)) / (end - begin)
        else:  # without latency and overhead a time is its slope, free of cancellation
            slope = lead(1.0, replace(link, latency=0.0, overhead=0.0))
        meeting = begin - lead(begin) / slope if lead(begin) * slope < 0 else math.inf
        if meeting < end:
            below, above = (first, second) if lead(begin) < 0 else (second, first)
            crossings.append(Crossover(meeting, below, above))
    return tuple(crossings)


def crossing(first: Time, second: Time, smallest: float, largest: float) -> float:
    """A size between the two at which two times are equal, for any continuous functions of size:
    by bisection on a logarithmic scale."""
    if not 0 < smallest < largest < math.inf:
        raise ValueError(f"{smallest=} and {largest=}: 0 < smallest < largest must be true")
    low, high = smallest, largest
    sign_low, sign_high = (np.sign(first(n) - second(n)) for n in (low, high))
    if sign_low * sign_high > 0:
        raise ValueError(
            f"the same formula is faster at {smallest:,.0f} bytes and at {largest:,.0f} bytes: "
            "the two may not cross between these sizes. Give a wider range"
        )
    while high / low > 1 + 1e-14 and low < (middle := math.sqrt(low) * math.sqrt(high)) < high:
        if np.sign(first(middle) - second(middle)) == sign_low:
            low = middle
        else:
            high = middle
    return high


def winner_map(
    ranks: Sequence[int],
    nbytes: Sequence[float],
    link: Link,
    algorithms: Iterable[str] = ALGORITHMS,
) -> np.ndarray:
    """The winner's name for every rank count (rows) and size (columns); of equals, the first."""
    names, sizes = tuple(algorithms), np.asarray(nbytes, float)
    rows = []
    for count in ranks:
        times = np.array([formula(name)(count, sizes, link) for name in names])
        shortest = np.isclose(times, times.min(axis=0), rtol=ROUNDING, atol=0.0)
        rows.append(np.array(names)[shortest.argmax(axis=0)])
    return np.array(rows)
