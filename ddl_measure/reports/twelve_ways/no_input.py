"""Way 6: leave the input out.

Samples that are in memory already, decoded and shuffled, cost nothing; in a real training they
have to be read, and the faster the rest becomes the more that weighs.
Undone by the wall's clock: from the file to the update.
"""

from __future__ import annotations

from ddl_measure.reports.report import Report
from ddl_measure.reports.twelve_ways.part_for_whole import STEPS, WHOLE, part_for_whole
from ddl_measure.reports.twelve_ways.trick import Panel, Trick, less, line

APART = "a step, input apart"


def no_input(true: Report) -> Trick:
    """Start the clock when the samples are there."""
    entries, apart, step, claim, fair = part_for_whole(
        true, APART, "Steps in float32 are {} times as fast."
    )
    measured = line("measured", entries, apart, 1e3)
    fools = Panel(claim.says, "", "milliseconds of a step", (measured,))
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
