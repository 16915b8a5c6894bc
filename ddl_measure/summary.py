"""All times of one thing, and what is said about them: nothing is dropped.

The median does not care how late a late time is, so an outlier needs no excuse and no eraser: it
is counted, and shown. It lies more than one and a half times the middle half's width beyond that
half (Tukey 1977). What to look at: outliers at equal distances come from something that works by
the clock; outliers at the beginning only are a warm-up that was too short.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ddl_measure.interval import coverage, interval

FENCE = 1.5  # widths of the middle half


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
            f"times of shape {times.shape}: give one row of times, at least one, all finite; a "
            "run that never ended is no time and has to be told by itself"
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
