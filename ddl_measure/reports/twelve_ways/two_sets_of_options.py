"""Way 8: show speed with one set of options and accuracy with another.

Both numbers are true, and no training had both.
Undone by points with two coordinates: one training, its time and its accuracy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ddl_measure.reports.report import A_TRAINING, Claim, Report
from ddl_measure.reports.twelve_ways.trick import (
    Curve,
    Panel,
    Trick,
    as_good,
    entry_of,
    held_out,
    less,
    line,
    series_of,
)

FAST, GOOD = "average now and then", "average at every step"


def two_sets_of_options(true: Report) -> Trick:
    """Take the best of each."""
    fast, good = (entry_of(true, name) for name in (FAST, GOOD))
    seconds, right = [series_of(it, "seconds") for it in (fast, good)], held_out(good)
    factor = as_good(*seconds)
    accuracy = 100 * float(np.median(right.values))
    says = f"{factor:.2g} times as fast as before, {accuracy:.1f}% right."
    claim = Claim(
        says, "training", "seconds", A_TRAINING, factor, "medians", (FAST,), GOOD,
        "previous version",
    )  # fmt: skip
    fools = Panel(says, "", "seconds of a training", (
        line("measured", ("before", "ours"), [seconds[1], seconds[0]]),))  # fmt: skip
    points = [
        Curve(
            told, series_of(it, "seconds").values, tuple(100 * one for one in held_out(it).values)
        )
        for told, it in (("now and then", fast), ("at every step", good))
    ]
    honest = Panel(
        "Each training: as fast or as accurate, never both", "seconds of a training",
        "held-out pictures recognised (%)", tuple(points),
    )  # fmt: skip
    told = less(true, [FAST, GOOD], claim)
    speed, kept = told.entries
    speed = replace(speed, series=tuple(it for it in speed.series if it.quantity != "accuracy"))
    return Trick(
        8, "Speed with one set of options, accuracy with another",
        replace(told, entries=(speed, kept)), "other settings for accuracy", fools, honest,
        "Take time and accuracy from one and the same training.",
    )  # fmt: skip
