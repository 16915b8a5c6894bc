"""Accuracy on the way: the median over the seeds, from look to look.

In a report, the curve of each seed is a series of its own: `of` is "at each look, seed 3". What to
look at: over seconds, two curves may cross; then which is better depends on when one stops.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ddl_measure.interval import interval
from ddl_measure.reports.report import A_TRAINING, HELD_OUT, Entry, Series
from ddl_measure.reports.twelve_ways.trick import ReportedCurve


def accuracies(
    entry: Entry, split: str | None = HELD_OUT, quantity: str = "accuracy"
) -> np.ndarray:
    """A row for each seed, a column for each look."""
    rows = [
        series.values
        for series in entry.series or ()
        if (series.quantity, series.split) == (quantity, split)
        and "each look" in (series.of or "")
    ]
    if not rows:
        raise ValueError(
            f"entry '{entry.name}' has no {quantity} at each look: give true measurements as "
            "'python -m benchmarks.twelve_ways' makes them"
        )
    return np.array(rows)


def seconds(entry: Entry) -> np.ndarray:
    """The seconds of training by then, alike."""
    return accuracies(entry, None, "seconds")


def curve(entry: Entry, name: str, split: str = HELD_OUT, *, over: str) -> ReportedCurve:
    """Percent over looks, or over the median seconds, with 95% intervals."""
    table = 100 * accuracies(entry, split)
    looks = 1 + np.arange(table.shape[1])
    places = np.median(seconds(entry), axis=0) if over == "seconds" else looks
    middles, lows, highs = zip(*(interval(column) for column in table.T), strict=True)
    return ReportedCurve(name, tuple(places.tolist()), middles, lows, highs)


def to_target(curves: Sequence[tuple[np.ndarray, np.ndarray]], target: float) -> float:
    """The median over curves of (seconds, accuracy) of the first second at the target."""
    return float(np.median([first_at(right, took, target) for took, right in curves]))


def first_at(right: np.ndarray, took: np.ndarray, target: float) -> float:
    """The first second at which `right` is at the target; infinite if that never is."""
    return float(min(took[right >= target], default=np.inf))


def times_to(goal: float, entry: Entry) -> Series:
    """Seconds to a target, seed by seed; infinite where it was not reached."""
    curves = zip(accuracies(entry), seconds(entry), strict=True)
    reached = tuple(first_at(right, took, goal) for right, took in curves)
    first = next(series for series in entry.series or () if series.quantity == "seconds")
    return replace(first, quantity="seconds to target", of=A_TRAINING, values=reached,
                   repeated=len(reached))  # fmt: skip


def until(line: ReportedCurve, stop: float) -> ReportedCurve:
    """The part of a line up to `stop`."""
    count = max(1, sum(x <= stop * (1 + 1e-9) for x in line.x))
    return replace(
        line, **{name: getattr(line, name)[:count] for name in ("x", "y", "low", "high")}
    )
