"""Way 10: train just for the right time.

Two curves of accuracy over time that cross: whoever chooses the moment chooses the winner. A
target that is fixed after the runs is such a moment.
Undone by the whole curves, and by a target that was fixed before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ddl_measure.reports.numbers import good_ratio
from ddl_measure.reports.report import (
    A_TRAINING,
    HELD_OUT,
    Claim,
    Entry,
    Report,
    Series,
    Target,
)
from ddl_measure.reports.twelve_ways.curves import accuracies, curve, first_at, seconds
from ddl_measure.reports.twelve_ways.trick import Panel, Trick, entry_of, less

QUICK, GOOD = "average now and then", "average at every step"
QUANTITY = "seconds to target"
CREDIBLE = 0.7  # right: nobody would call less a target


def the_right_time(true: Report) -> Trick:
    """Look for the target at which ours looks best, and call it the target."""
    quick, good = (entry_of(true, name) for name in (QUICK, GOOD))
    reached = np.unique(np.median(accuracies(quick), axis=0))
    goals = reached[reached >= min(CREDIBLE, reached[-1])]
    ratios = [good_ratio(times(quick, it), times(good, it), "medians") for it in goals]
    factors = [it[0] if it else 0.0 for it in ratios]
    goal, factor = float(goals[np.argmax(factors)]), float(f"{max(factors):.3g}")
    says = f"Ours is at {100 * goal:.3g}% {factor:.2g} times as soon."
    claim = Claim(says, "training", QUANTITY, A_TRAINING, factor, "medians", (QUICK,), GOOD,
                  "best known")  # fmt: skip
    told = less(true, [QUICK, GOOD], claim)
    entries = tuple(replace(it, series=(times(it, goal),)) for it in told.entries)
    lines = tuple(
        curve(it, name, over="seconds") for it, name in ((quick, "ours"), (good, "theirs"))
    )
    stop = max(x for x, y in zip(lines[0].x, lines[0].y, strict=True) if y <= 100 * goal + 1e-9)
    axes = "seconds of training", "held-out pictures recognised (%)"
    fools = Panel(says, *axes, tuple(until(it, stop) for it in lines))
    ends = [np.median(accuracies(it)[:, -1]) for it in (quick, good)]
    honest = Panel(
        f"… and stays below: {100 * ends[0]:.0f}% at the end, theirs {100 * ends[1]:.0f}%", *axes,
        lines,
    )  # fmt: skip
    return Trick(
        10, "Train just for the right time",
        replace(told, entries=entries, target=Target(goal, HELD_OUT, "after")),
        "stopped at the right time", fools, honest,
        "Fix the target before the runs, and show the whole curves.",
    )  # fmt: skip


def times(entry: Entry, goal: float) -> Series:
    """Seconds to a target, seed by seed; infinite where it was not reached."""
    curves = zip(accuracies(entry), seconds(entry), strict=True)
    found = [first_at(right, took, goal) for right, took in curves]
    first = next(it for it in entry.series or () if it.quantity == "seconds")
    return replace(
        first, quantity=QUANTITY, of=A_TRAINING, values=tuple(found), repeated=len(found)
    )


def until(line, stop: float):
    """The part of a line up to `stop`."""
    count = max(1, sum(x <= stop * (1 + 1e-9) for x in line.x))
    parts = {name: getattr(line, name)[:count] for name in ("x", "y", "low", "high")}
    return replace(line, **parts)
