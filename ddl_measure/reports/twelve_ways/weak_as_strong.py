"""Way 11: choose the mini-batch; weak scaling, sold as strong.

With as many samples for every rank the messages stay as long while the work grows: throughput
scales. A given training with a given batch has less work for each rank with every rank that is
added, and ends at its messages.
Undone by both, beside each other, each by its name.
"""

from __future__ import annotations

from ddl_measure.reports.report import A_TRAINING, Claim, Report
from ddl_measure.reports.twelve_ways.ignore_accuracy import RATE, SCALES
from ddl_measure.reports.twelve_ways.trick import (
    Panel,
    Trick,
    as_good,
    entry_of,
    ideal,
    less,
    series_of,
    speed_ups,
)


def weak_as_strong(true: Report) -> Trick:
    """Let the batch grow with the ranks, and do not say so."""
    weak = [f"weak, {ranks} ranks" for ranks in SCALES]
    strong = [weak[0], *(f"strong, {ranks} ranks" for ranks in SCALES[1:])]
    grown, same = (
        [series_of(entry_of(true, name), RATE) for name in names] for names in (weak, strong)
    )
    factor, fair = as_good(grown[-1], grown[0]), as_good(same[-1], same[0])
    says = f"Speed-up on {SCALES[-1]} ranks: {factor:.2g}."
    claim = Claim(
        says, "training", RATE, A_TRAINING, factor, "medians", tuple(weak[1:]), weak[0],
        "one rank", "strong",
    )  # fmt: skip
    line = speed_ups("measured", SCALES, grown)
    axes = "ranks", "times as fast"
    fools = Panel(says, *axes, (ideal(SCALES), line), logarithmic=True)
    honest = Panel(
        f"… with 8 times the batch; with the same batch: {fair:.2g}", *axes,
        (ideal(SCALES), speed_ups("weak: 32 samples a rank", SCALES, grown),
         speed_ups("strong: 32 samples in all", SCALES, same)), logarithmic=True,
    )  # fmt: skip
    return Trick(
        11, "Sell weak scaling as strong", less(true, weak, claim),
        "weak scaling sold as strong", fools, honest,
        "Say which scaling it is, and show the other beside it.",
    )  # fmt: skip
