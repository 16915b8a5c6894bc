"""Way 12: select carefully with what one compares.

Among several ways to do the same there is always one that is easy to beat.
Undone by the best known one, measured in turns on the same machine.
"""

from __future__ import annotations

import numpy as np

from ddl_measure.reports.report import Claim, Report
from ddl_measure.reports.twelve_ways.trick import (
    Panel,
    Trick,
    as_good,
    entry_of,
    less,
    line,
    series_of,
)

CALL = "a call"
NAMES = {
    told: f"all-reduce, {name}"
    for told, name in (("to one root", "linear"), ("ring", "ring"), ("MPI library", "native"))
}


def choose_the_baseline(true: Report) -> Trick:
    """Compare the best but one with the worst."""
    seconds = {
        told: series_of(entry_of(true, name), "seconds", CALL) for told, name in NAMES.items()
    }
    best, ours, worst = sorted(seconds, key=lambda told: np.median(seconds[told].values))
    factor = as_good(seconds[ours], seconds[worst], "paired ratios")
    fair = as_good(seconds[ours], seconds[best], "paired ratios")
    says = f"All-reduce, {ours}: {factor:.2g} times as fast."
    claim = Claim(
        says, "communication", "seconds", CALL, factor, "paired ratios", (NAMES[ours],),
        NAMES[worst], "best known",
    )  # fmt: skip
    two, three = (worst, ours), (worst, ours, best)
    axes = "", "milliseconds for 1 MiB"
    fools = Panel(says, *axes, (line("measured", two, [seconds[it] for it in two], 1e3),))
    honest = Panel(
        f"… than {worst}; {fair:.2g} times as fast as {best}", *axes,
        (line("measured", three, [seconds[it] for it in three], 1e3),),
    )  # fmt: skip
    return Trick(
        12, "Select carefully with what one compares", less(true, NAMES.values(), claim),
        "poor baseline", fools, honest, "Compare with the best known, measured in turns.",
    )  # fmt: skip
