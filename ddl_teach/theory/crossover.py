"""Which all-reduce to take: the sizes where one begins to beat another, and who wins where.

Every formula is a straight line over the size: few latencies with many bytes (recursive doubling)
start low and rise steeply, many latencies with few bytes (ring) start high and rise gently. Two
lines cross at one size,

    n* = (start_A - start_B) / (slope_B - slope_A),

and the winner over all sizes is the lower envelope of the lines. Only `linear` with an overhead
has a bend, at n = overhead / (G - g), where the root's port instead of its processor begins to set
the pace; on either side of it the line is straight. Thakur, Rabenseifner & Gropp (2005) choose
MPICH's algorithms this way. A `link` is a latency and a per_byte; per_byte_reduced and overhead
are the costs that formulas have besides. What to look at: how the crossing sizes grow with the
number of ranks.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ddl_teach.theory.collectives import ALGORITHMS, formula
from ddl_teach.theory.inputs import Costs

Time = Callable[[float], float]  # of a size
ROUNDING = 1e-12  # relative difference below which two times count as the same


@dataclass(frozen=True)
class Crossover:
    """At `nbytes` two algorithms take the same time; `below` wins before, `above` after."""

    nbytes: float
    below: str
    above: str


@dataclass(frozen=True)
class Reign:
    """The sizes, from `begin` up to `end` bytes, at which `algorithm` is the fastest."""

    algorithm: str
    begin: float
    end: float


@dataclass(frozen=True)
class FastestAlgorithm:
    """The fastest algorithm for one size, its time, everybody's times, and the reason in words."""

    algorithm: str
    seconds: float
    times: Mapping[str, float]
    explanation: str


def crossovers(
    first: str, second: str, ranks: int, *link: float, **more: float
) -> tuple[Crossover, ...]:
    """All sizes at which the faster of two algorithms becomes the slower, ascending.

    Empty if one of them is never slower; at most one entry unless `linear` bends (see above).
    """
    pair = formula(first), formula(second)
    costs = Costs(*link, **more)

    def lead(nbytes: float, costs: Costs = costs) -> float:
        """The time that `second` saves."""
        return _difference(*(float(time(ranks, nbytes, *costs)) for time in pair))

    corners = [0.0]
    if costs.overhead > 0 and costs.per_byte > costs.per_byte_reduced:
        corners.append(costs.overhead / (costs.per_byte - costs.per_byte_reduced))
    found = []
    for begin, end in zip(corners, [*corners[1:], math.inf], strict=True):
        if end < math.inf:
            slope = (lead(end) - lead(begin)) / (end - begin)
        else:  # without latency and overhead a time is its slope, free of cancellation
            slope = lead(1.0, costs._replace(latency=0.0, overhead=0.0))
        meeting = begin - lead(begin) / slope if lead(begin) * slope < 0 else math.inf
        if meeting < end:
            below, above = (first, second) if lead(begin) < 0 else (second, first)
            found.append(Crossover(meeting, below, above))
    return tuple(found)


def crossing(first: Time, second: Time, smallest: float, largest: float) -> float:
    """A size between the two at which two times are equal, for any continuous functions of size.

    For curves without a formula: measured times, interpolated, or a simulation. Bisection halves
    the interval on a logarithmic scale, for sizes span many decades; it keeps one end on each side
    of the crossing and so cannot lose it.
    """
    if not 0 < smallest < largest < math.inf:
        raise ValueError(f"need 0 < smallest < largest, not {smallest!r} and {largest!r}")
    low, high = smallest, largest
    sign_low, sign_high = (np.sign(first(n) - second(n)) for n in (low, high))
    if sign_low * sign_high > 0:
        raise ValueError(
            f"one of the two is faster at {smallest:,.0f} bytes and at {largest:,.0f} bytes: "
            "there may be no crossing between; widen the range"
        )
    while high / low > 1 + 1e-14:
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        if np.sign(first(middle) - second(middle)) == sign_low:
            low = middle
        else:
            high = middle
    return high


def reigns(
    ranks: int, *link: float, algorithms: Iterable[str] = ALGORITHMS, **more: float
) -> tuple[Reign, ...]:
    """Who is fastest from 0 bytes to infinitely many, one entry after another without gaps."""
    names = tuple(algorithms)
    sizes = sorted(
        {
            change.nbytes
            for place, first in enumerate(names)
            for second in names[place + 1 :]
            for change in crossovers(first, second, ranks, *link, **more)
        }
    )
    found: list[Reign] = []
    for begin, end in zip([0.0, *sizes], [*sizes, math.inf], strict=True):
        inside = (begin + end) / 2 if end < math.inf else 2 * begin + 1
        winner = _winner(_times(names, ranks, inside, Costs(*link, **more)))
        if found and found[-1].algorithm == winner:
            found[-1] = Reign(winner, found[-1].begin, end)
        else:
            found.append(Reign(winner, begin, end))
    return tuple(found)


def winner_map(
    ranks: Sequence[int],
    nbytes: Sequence[float],
    *link: float,
    algorithms: Iterable[str] = ALGORITHMS,
    **more: float,
) -> np.ndarray:
    """The winner's name for every rank count (rows) and size (columns): a map to colour."""
    names = tuple(algorithms)
    sizes = np.asarray(nbytes, float)
    rows, costs = [], Costs(*link, **more)
    for count in ranks:
        times = np.array([formula(name)(count, sizes, *costs) for name in names])
        shortest = np.isclose(times, times.min(axis=0), rtol=ROUNDING, atol=0.0)
        rows.append(np.array(names)[shortest.argmax(axis=0)])
    return np.array(rows)


def fastest(
    ranks: int, nbytes: float, *link: float, algorithms: Iterable[str] = ALGORITHMS, **more: float
) -> FastestAlgorithm:
    """The algorithm with the shortest predicted time, and why. Of equals, the first named wins."""
    names, costs = tuple(algorithms), Costs(*link, **more)
    times = _times(names, ranks, float(nbytes), costs)
    winner = _winner(times)
    if ranks == 1:
        return FastestAlgorithm(
            winner, 0.0, times, "One rank has nobody to talk to: all cost nothing."
        )
    waiting = float(formula(winner)(ranks, 0.0, *costs))
    lines = [
        f"{winner} is fastest for {nbytes:,.0f} bytes on {ranks} ranks: "
        f"{_time(times[winner])}, of which {_time(waiting)} would pass without any bytes."
    ]
    others = {name: time for name, time in times.items() if name != winner}
    if others:
        second = _winner(others)
        slower = f", {times[second] / times[winner]:.2f} times as much" if times[winner] else ""
        lines.append(f"Next comes {second} with {_time(times[second])}{slower}.")
    order = reigns(ranks, *costs, algorithms=names)
    if len(order) > 1:
        parts = [f"{reign.algorithm} up to {reign.end:,.0f} bytes" for reign in order[:-1]]
        lines.append(f"By size: {', '.join(parts)}, then {order[-1].algorithm}.")
    return FastestAlgorithm(winner, times[winner], times, " ".join(lines))


def _times(names: Sequence[str], ranks: int, nbytes: float, costs: Costs) -> dict[str, float]:
    if not names:
        raise ValueError(f"no algorithm to choose from; name some of {', '.join(ALGORITHMS)}")
    return {name: float(formula(name)(ranks, nbytes, *costs)) for name in names}


def _winner(times: Mapping[str, float]) -> str:
    """The first name whose time is the shortest, up to rounding."""
    shortest = min(times.values())
    return next(name for name, time in times.items() if _difference(time, shortest) == 0)


def _difference(one: float, other: float) -> float:
    """one - other, but zero where only rounding tells them apart."""
    return 0.0 if math.isclose(one, other, rel_tol=ROUNDING) else one - other


def _time(seconds: float) -> str:
    """A time as one would say it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
