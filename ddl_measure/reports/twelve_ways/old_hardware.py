"""Way 4: compare one's own program on new hardware with another on old hardware.

Two things change at once, and the program gets the credit for both.
Undone by the other two of the four combinations: each program on each machine.
"""

from __future__ import annotations

from ddl_measure.reports.report import A_TRAINING, Claim, Report
from ddl_measure.reports.twelve_ways.trick import (
    Panel,
    Trick,
    as_good,
    entry_of,
    less,
    line,
    series_of,
)

AGES = ("old", "new")
PROGRAMS = {8: "float64 messages", 4: "float32 messages"}


def old_hardware(true: Report) -> Trick:
    """Ours on what was bought last, theirs on what they had."""
    names = {
        (width, age): f"{width} bytes, {age} accelerators" for width in PROGRAMS for age in AGES
    }
    seconds = {key: series_of(entry_of(true, name), "seconds") for key, name in names.items()}
    theirs, ours = (8, "old"), (4, "new")
    factor, fair = as_good(seconds[ours], seconds[theirs]), as_good(
        seconds[ours], seconds[8, "new"]
    )  # fmt: skip
    says = f"Our messages train {factor:.2g} times as fast."
    claim = Claim(
        says, "training", "seconds", A_TRAINING, factor, "medians", (names[ours],), names[theirs],
        "previous version",
    )  # fmt: skip
    fools = Panel(says, "", "seconds of a training", (
        line("measured", ("theirs", "ours"), [seconds[theirs], seconds[ours]]),))  # fmt: skip
    honest = Panel(
        f"… on the same accelerators {fair:.2g} times", "",
        "seconds of a training",
        tuple(line(told, [f"{age} accelerators" for age in AGES],
                   [seconds[width, age] for age in AGES]) for width, told in PROGRAMS.items()),
    )  # fmt: skip
    return Trick(
        4, "Compare new hardware with old", less(true, [names[theirs], names[ours]], claim),
        "other hardware", fools, honest, "Run both programs on both machines.",
    )  # fmt: skip
