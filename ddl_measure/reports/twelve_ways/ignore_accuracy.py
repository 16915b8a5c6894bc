"""Way 1: ignore accuracy while scaling up.

Each rank brings its own samples, so throughput grows with the ranks; but the batch grows as well,
an epoch has fewer steps, and less is learnt in it. Throughput does not see that.
Undone by the accuracy on data held out, at every number of ranks.
"""

from __future__ import annotations

from ddl_measure.reports.report import A_TRAINING, Claim, Report
from ddl_measure.reports.twelve_ways.trick import (
    Panel,
    Trick,
    as_good,
    entry_of,
    held_out,
    ideal,
    less,
    line,
    series_of,
    speed_ups,
)

SCALES = (1, 2, 4, 8)
RATE = "samples a second"


def ignore_accuracy(true: Report) -> Trick:
    """Show throughput, and nothing of what it led to."""
    names = [f"weak, {ranks} ranks" for ranks in SCALES]
    entries = [entry_of(true, name) for name in names]
    rates = [series_of(entry, RATE) for entry in entries]
    factor = as_good(rates[-1], rates[0])
    says = f"Training scales: {SCALES[-1]} ranks, {factor:.2g} times the throughput."
    claim = Claim(
        says, "training", RATE, A_TRAINING, factor, "medians", tuple(names[1:]), names[0],
        "one rank", "weak",
    )  # fmt: skip
    fools = Panel(
        says, "ranks", "times the samples a second",
        (ideal(SCALES), speed_ups("measured", SCALES, rates)), logarithmic=True,
    )  # fmt: skip
    right = line("held-out accuracy", SCALES, [held_out(it) for it in entries], 100)
    honest = Panel(
        f"… and after {entries[0].settings['epochs']} epochs: {right.y[0]:.0f}% right on 1 rank, "
        f"{right.y[-1]:.0f}% on {SCALES[-1]}",
        "ranks", "held-out pictures recognised (%)", (right,), logarithmic=True,
    )  # fmt: skip
    return Trick(
        1, "Ignore accuracy while scaling up",
        less(true, names, claim, lambda series: series.quantity != "accuracy"),
        "throughput without accuracy", fools, honest,
        "Show the accuracy on data held out at every number of ranks.",
    )  # fmt: skip
