"""Carry out a recipe: one training for each seed, and a report in which every one of them is.

The report is handed to `keep` after each training, so that what is on the disk tells of all that
was run also when the machine goes down. A training that raised is in it as crashed: it has taken
infinitely long to the target, and reached nothing. What to look at: nothing is chosen here; the
report has as many values as seeds, or it is not yet finished.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ddl_teach.measure.interval import interval
from ddl_teach.measure.machine import describe
from ddl_teach.measure.recipes.recipe import Recipe, Settings, Value
from ddl_teach.measure.reports.made import made
from ddl_teach.measure.reports.report import (
    A_TRAINING,
    COMMUNICATION,
    HELD_OUT,
    STEP_PARTS,
    Claim,
    Entry,
    Report,
    Series,
    Target,
    Trial,
)
from ddl_teach.measure.to_accuracy import Checkpoint, reached

Looks = Sequence[Checkpoint]

MACHINE = "this machine"
NEVER = float("inf")


def carry_out(
    recipe: Recipe,
    train: Callable[[int, dict[str, Value]], Sequence[Looks]],
    changed: Settings,
    command: str,
    keep: Callable[[Report, str], None] = lambda report, error: None,
) -> Report:
    """Train with every seed; `train(seed, settings)` gives the looks of all ranks.

    `command` is the line that does it again, for the report; `keep(report, error)` gets it after
    each training, with what a crashed one raised.
    """
    settings = recipe.settings(changed)
    origin, machine = made(command, recipe.seeds), describe()
    trials: list[Trial] = []
    looks: list[Looks] = []
    for seed in recipe.seeds:
        begun, outcome, error = time.perf_counter(), "kept", ""
        try:
            looks.append(slowest(train(seed, settings)))
        except Exception as raised:
            looks.append(())
            outcome, error = "crashed", f"{type(raised).__name__}: {raised}"
        seconds = time.perf_counter() - begun
        trials.append(Trial(recipe.title, seed, None, outcome, seconds, _last(looks[-1])))
        report = _report(recipe, settings, looks, trials)
        report = replace(report, made=origin, machines={MACHINE: machine})
        keep(report, error)
    return report


def slowest(ranks: Sequence[Looks]) -> Looks:
    """The looks of all ranks as one training's: a step is over when the last rank has ended it."""
    if len({len(looks) for looks in ranks}) != 1 or not ranks[0]:
        raise ValueError(
            f"the ranks looked {[len(looks) for looks in ranks]} times at the data held out: each "
            "must return a Checkpoint for every look, all ranks the same looks"
        )
    return tuple(
        replace(together[0], seconds=max(look.seconds for look in together))
        for together in zip(*ranks, strict=True)
    )


def has_worked(report: Report) -> bool:
    """Whether every training of a recipe's report came to the target."""
    seeds = report.made.seeds if report.made else None
    epochs = values(report, "epochs to target")
    return bool(seeds) and len(epochs) == len(seeds) and max(epochs) < NEVER


def values(report: Report, quantity: str) -> tuple[float, ...]:
    """All values of a quantity, seed after seed."""
    found = [
        series.values or ()
        for entry in report.entries or ()
        for series in entry.series or ()
        if series.quantity == quantity
    ]
    if len(found) != 1:
        raise ValueError(
            f"the report {report.title!r} is none of a recipe: it has {len(found)} series of "
            f"{quantity!r}, and should have one"
        )
    return found[0]


def _last(looks: Looks) -> float:
    return looks[-1].accuracy if looks else 0.0


def _report(
    recipe: Recipe, settings: dict[str, Value], looks: list[Looks], trials: list[Trial]
) -> Report:
    firsts = [reached(each, recipe.target, recipe.in_a_row) for each in looks]
    seconds = tuple(NEVER if first is None else first.seconds for first in firsts)
    epochs = tuple(NEVER if first is None else first.epochs for first in firsts)
    ends, count, together = tuple(map(_last, looks)), len(looks), recipe.ranks > 1
    series = (
        Series("seconds to target", A_TRAINING, "s", seconds, count, "measured", False,
               includes=STEP_PARTS + ((COMMUNICATION,) if together else ()),
               over_ranks="slowest" if together else None),
        Series("epochs to target", A_TRAINING, "1", epochs, count, "measured", False),
        Series("accuracy", A_TRAINING, "1", ends, count, "measured", False, split=HELD_OUT,
               taken="at the end"),
    )  # fmt: skip
    told = {**settings, "program": recipe.code}
    entry = Entry(
        recipe.title, MACHINE, recipe.ranks, recipe.ranks, told, series,
        batch=int(settings["batch"]), shape=recipe.data.shape, searched=0,
    )  # fmt: skip
    middle, _, _ = interval(seconds)
    says = f"{recipe.target:.0%} on held-out data in {middle:.3g} s"
    claim = Claim(
        says, "training", "seconds to target", A_TRAINING, middle, "medians", (recipe.title,)
    )
    return Report(
        title=recipe.title,
        data=recipe.data,
        entries=(entry,),
        trials=tuple(replace(trial, settings=told) for trial in trials),
        target=Target(recipe.target, HELD_OUT, "before"),
        claims=(claim,) if middle < NEVER else (),
        left_out=(),
    )
