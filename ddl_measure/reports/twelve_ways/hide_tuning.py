"""Way 3: report only the training that was best, not those that were needed to find its settings.

A search of n trials costs n trainings, and its winner was also the luckiest.
Undone by the list of all trials: what each came to, and how long all of them took together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ddl_measure.reports.report import A_TRAINING, Claim, Report
from ddl_measure.reports.twelve_ways.trick import (
    Curve,
    Panel,
    Trick,
    entry_of,
    held_out,
    less,
    series_of,
)

NAME = "rate searched"


def hide_tuning(true: Report) -> Trick:
    """Show the winner's training."""
    entry = entry_of(true, NAME)
    took = float(np.median(series_of(entry, "seconds").values))
    right = 100 * float(np.median(held_out(entry).values))
    says = f"{right:.1f}% in {took:.2g} s of training."
    claim = Claim(says, "training", "seconds", A_TRAINING, took, "medians", (NAME,))
    fooling = less(true, [NAME], claim)
    tried = [it for it in fooling.trials if it.outcome != "kept"]
    total = sum(it.seconds for it in tried)
    fools = Panel(says, "", "seconds", (Curve("training", ("the training",), (took,)),))
    ordered = sorted(tried, key=lambda it: it.settings["rate"])
    honest = Panel(
        f"… after {len(tried)} trainings of {total:.3g} s in all to find the rate",
        "rate that was tried", "held-out accuracy in validation (%)",
        (Curve("one trial", tuple(it.settings["rate"] for it in ordered),
              tuple(100 * it.accuracy for it in ordered)),), logarithmic=True,
    )  # fmt: skip
    kept = tuple(it for it in fooling.trials if it.outcome == "kept")
    return Trick(
        3, "Hide the trainings that tuning took", replace(fooling, trials=kept),
        "tuning hidden", fools, honest, "List every training that was run, and add up their time.",
    )  # fmt: skip
