"""Way 9: train on unreasonably large inputs.

Larger samples mean more work for each message, so everything scales better; whether the task needs
them is another question. Here every picture is blown up to four times its pixels, which tells the
network nothing new.
Undone by the same task with samples as they come: its accuracy, and its seconds.
"""

from __future__ import annotations

import numpy as np

from ddl_measure.reports.report import A_TRAINING, Claim, Report
from ddl_measure.reports.twelve_ways.trick import (
    Panel,
    Trick,
    as_good,
    entry_of,
    held_out,
    less,
    line,
    series_of,
)

SIDES, RANKS = (8, 16), (1, 8)


def large_inputs(true: Report) -> Trick:
    """Give each rank more to do than there is."""
    entries = {
        (side, ranks): entry_of(true, f"side {side}, {ranks} ranks")
        for side in SIDES
        for ranks in RANKS
    }
    seconds = {key: series_of(entry, "seconds") for key, entry in entries.items()}
    small, large = (as_good(seconds[side, 8], seconds[side, 1]) for side in SIDES)
    names = [entries[16, ranks].name for ranks in RANKS]
    says = f"Strong scaling: {large:.2g} times as fast on 8 ranks."
    claim = Claim(
        says, "training", "seconds", A_TRAINING, large, "medians", (names[1],), names[0],
        "one rank", "strong",
    )  # fmt: skip
    ranks = [f"{it} rank{'s' * (it > 1)}" for it in RANKS]
    big = [seconds[16, it] for it in RANKS]
    fools = Panel(says, "", "seconds of an epoch", (line("measured", ranks, big),))
    same = [100 * float(np.median(held_out(entries[side, 8]).values)) for side in SIDES]
    honest = Panel(
        f"… as they come: {small:.2g} times, and as good ({same[0]:.0f}%, {same[1]:.0f}%)", "",
        "seconds of an epoch",
        (line("16 x 16", ranks, big), line("8 x 8", ranks, [seconds[8, it] for it in RANKS])),
    )  # fmt: skip
    return Trick(
        9, "Train on unreasonably large inputs", less(true, names, claim),
        "unreasonably large inputs", fools, honest,
        "Take samples as they come, or show what accuracy larger ones gain.",
    )  # fmt: skip
