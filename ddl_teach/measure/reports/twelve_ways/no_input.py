"""Way 6: leave the input out.

Samples that are in memory already, decoded and shuffled, cost nothing; in a real training they
have to be read, and the faster the rest becomes the more that weighs.
Undone by the wall's clock: from the file to the update.
"""

from __future__ import annotations

from ddl_teach.measure.reports.report import Claim, Report
from ddl_teach.measure.reports.twelve_ways.only_kernels import STEPS, WHOLE
from ddl_teach.measure.reports.twelve_ways.trick import (
    Panel,
    Trick,
    as_good,
    entry_of,
    less,
    line,
    series_of,
)

APART = "a step, input apart"


def no_input(true: Report) -> Trick:
    """Start the clock when the samples are there."""
    entries = {told: entry_of(true, name) for told, name in STEPS.items()}
    apart, step = (
        [series_of(it, "seconds", of) for it in entries.values()] for of in (APART, WHOLE)
    )
    factor = as_good(apart[1], apart[0], "paired ratios")
    fair = as_good(step[1], step[0], "paired ratios")
    says = f"Steps in float32 are {factor:.2g} times as fast."
    claim = Claim(
        says, "training", "seconds", APART, factor, "paired ratios", (STEPS["float32"],),
        STEPS["float64"], "best known",
    )  # fmt: skip
    fools = Panel(says, "", "milliseconds of a step", (line("measured", entries, apart, 1e3),))
    honest = Panel(
        f"… once pictures are there; with reading them {fair:.2g} times", "",
        "milliseconds of a step",
        (line("input apart", entries, apart, 1e3), line("with input", entries, step, 1e3)),
    )  # fmt: skip
    told = less(true, STEPS.values(), claim, lambda series: series.of != WHOLE)
    return Trick(
        6, "Leave the input out", told, "no input time", fools, honest,
        "Measure from the file to the update.",
    )  # fmt: skip
