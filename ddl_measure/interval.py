"""How sure a median is, and a ratio of two: 95% intervals that ask nothing of the distribution.

Of n independent times, the number that lie below the true median is binomial with mean n/2 and
standard deviation sqrt(n)/2. Take the times about 0.98 sqrt(n) places to both sides of the middle.
They enclose it in 95 of 100 experiments or more, for any distribution (Hoefler & Belli 2015). The
places are counted exactly. A ratio of medians has an interval as well: on a logarithmic scale it
is a difference, and the spread of each median is read off two of its ordered times (Price & Bonett
2002).
Nothing is dropped: the median does not care how late a late time is, so an outlier needs no excuse
and no eraser. It lies more than one and a half times the middle half's width beyond that half
(Tukey 1977), is counted, and shown. Outliers at equal distances come from something that works by
the clock; outliers at the beginning only are a warm-up that was too short.
What to look at: with fewer than six repetitions the interval is all that was measured, from least
to most, and that is not enough: `coverage` says how little it is worth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ddl_teach.theory.median import chance, enclosing

Times = Sequence[float] | np.ndarray
Interval = tuple[float, float, float]
"""The middle, and the two ends around it."""

FENCE = 1.5  # widths of the middle half
FEWEST = 6  # times of which the least and the most enclose the median in 95 of 100 experiments


def interval(times: Times, confidence: float = 0.95) -> Interval:
    """Median, and the two ends of its interval."""
    times = np.asarray(times, float)
    if times.ndim != 1 or np.isnan(times).any():
        raise ValueError(
            f"times of shape {times.shape}: give one row of times, each of them a number; one "
            "that never came is infinite"
        )
    ordered = np.sort(times)
    low, high = enclosing(len(ordered), confidence)
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])


def coverage(count: int, confidence: float = 0.95) -> float:
    """The share of experiments in which the interval of `count` independent times holds the
    median."""
    low, high = enclosing(count, confidence)
    return sum(chance(below, count) for below in range(low + 1, high + 1))


def ratio_of_turns(times: Times, baseline: Times) -> Interval:
    """How many times the baseline's: the median of the turns' quotients, and its 95% interval.

    For contestants that took turns: what disturbed the machine in one turn disturbed both, and
    falls out of the quotient.
    """
    times, baseline = _positive(times), _positive(baseline)
    if len(times) != len(baseline):
        raise ValueError(
            f"{len(times)} times and {len(baseline)} of the baseline cannot be paired: measure "
            "both with side_by_side, or compare them with ratio_of_medians"
        )
    return interval(times / baseline)


def ratio_of_medians(times: Times, baseline: Times) -> Interval:
    """The median of `times` divided by the median of `baseline`, and the 95% interval of this
    quotient.

    The two may have been measured apart, and need not be equally many.
    """
    times, baseline = _positive(times), _positive(baseline)
    middle = float(np.median(times) / np.median(baseline))
    if min(len(times), len(baseline)) < FEWEST:
        least, most = times.min() / baseline.max(), times.max() / baseline.min()
        return middle, float(least), float(most)
    reach = NormalDist().inv_cdf(0.975) * math.hypot(_spread(times), _spread(baseline))
    return middle, middle * math.exp(-reach), middle * math.exp(reach)


@dataclass(frozen=True)
class Summary:
    """`times` in the order in which they were measured, and the places of the `outliers` in them.

    `low` and `high` enclose the true median in a share `confidence` of experiments, if the times
    do not depend on each other.
    """

    times: tuple[float, ...]
    median: float
    low: float
    high: float
    confidence: float
    outliers: tuple[int, ...]

    def __str__(self) -> str:
        ends = f"{self.low:.3g} to {self.high:.3g} s in {self.confidence:.0%} of experiments"
        far = f", {len(self.outliers)} outliers" if self.outliers else ""
        return f"median {self.median:.3g} s ({ends}; {len(self.times)} times{far})"


def summarise(times: Sequence[float] | np.ndarray) -> Summary:
    """Median, interval and outliers of measured times; all of them stay in it."""
    times = np.asarray(times, float)
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all():
        raise ValueError(
            f"times of shape {times.shape}: give one row of times, at least one, all finite; "
            "report a run that never ended beside them"
        )
    first, third = np.quantile(times, (0.25, 0.75))
    beyond = FENCE * (third - first)
    far = (times < first - beyond) | (times > third + beyond)
    return Summary(
        tuple(times.tolist()),
        *interval(times),
        coverage(len(times)),
        tuple(np.flatnonzero(far).tolist()),
    )


def _spread(times: np.ndarray) -> float:
    """The standard deviation of the logarithm of their median."""
    logs, count = np.sort(np.log(times)), len(times)
    outside = max(1, round(count / 2 - math.sqrt(count)))
    tail = sum(chance(below, count) for below in range(outside))
    return float(logs[-outside] - logs[outside - 1]) / (2 * NormalDist().inv_cdf(1 - tail))


def _positive(times: Times) -> np.ndarray:
    times = np.asarray(times, float)
    if not times.size or not (times > 0).all():
        raise ValueError(
            "a ratio needs times above 0, at least one; a time of 0 is shorter than the clock "
            "can tell: repeat the work in a row and divide"
        )
    return times
