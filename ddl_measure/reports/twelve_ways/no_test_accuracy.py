"""Way 2: report no test accuracy.

What was learnt from is recognised better than what was not, and the longer one trains the larger
the gap. An accuracy without the name of its data is that of the training data.
Undone by the same curve on data held out.
"""

from __future__ import annotations

import numpy as np

from ddl_measure.reports.report import A_TRAINING, HELD_OUT, TRAINING, Claim, Report
from ddl_measure.reports.twelve_ways.curves import curve
from ddl_measure.reports.twelve_ways.trick import Panel, Trick, entry_of, less, series_of

NAME = "average at every step"


def no_test_accuracy(true: Report) -> Trick:
    """Say how well it knows what it has learnt from."""
    entry = entry_of(true, NAME)
    known = float(np.median(series_of(entry, "accuracy", split=TRAINING).values))
    found = float(np.median(series_of(entry, "accuracy", split=HELD_OUT).values))
    says = f"Four ranks train to an accuracy of {100 * known:.1f}%."
    claim = Claim(says, "training", "accuracy", A_TRAINING, known, "medians", (NAME,))
    trained = curve(entry, "training pictures", TRAINING, over="looks")
    axes = "looks, nine steps apart", "accuracy (%)"
    fools = Panel(says, *axes, (trained,))
    honest = Panel(
        f"… of pictures that it has seen; of others {100 * found:.1f}%", *axes,
        (trained, curve(entry, "held-out pictures", HELD_OUT, over="looks")),
    )  # fmt: skip
    return Trick(
        2, "Report no test accuracy",
        less(true, [NAME], claim, lambda series: series.split != HELD_OUT),
        "no test accuracy", fools, honest, "Measure on data that training has not seen.",
    )  # fmt: skip
