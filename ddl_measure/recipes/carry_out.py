"""Carry out a recipe: one training or search for each seed, and a report that has every one.

The report is handed to `keep` after each of them. So the file on the disk has all that was run,
also if the machine goes down. One that raised is in it as crashed: it has taken infinitely long to
the target, and reached nothing. Of a search every trial is in it, with its settings and its
result. What to look at: nothing is chosen here; the report has as many values as seeds, or it is
not yet finished.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ddl_measure.interval import interval
from ddl_measure.machine import describe
from ddl_measure.recipes.recipe import Recipe, Settings, Value
from ddl_measure.reports.made import made
from ddl_measure.reports.report import (
    COMMUNICATION,
    HELD_OUT,
    LOWER,
    STEP_PARTS,
    Claim,
    Entry,
    Report,
    Series,
    Target,
    Trial,
)
from ddl_measure.to_accuracy import Evaluation, reached

Looks = Sequence[Evaluation]


@dataclass(frozen=True)
class Searched:
    """What a search's program returns on one rank. `looks` are evaluations on the data held out;
    the last one is the winner's. `trials` has all, also crashed ones, with empty entry and
    seed."""

    looks: Looks
    trials: tuple[Trial, ...]


MACHINE = "this machine"


def carry_out(
    recipe: Recipe,
    run: Callable[[int, dict[str, Value]], Sequence[Looks | Searched | None]],
    changed: Settings,
    command: str,
    keep: Callable[[Report, str], None] = lambda report, error: None,
) -> Report:
    """Run it with every seed; `run(seed, settings)` gives what all ranks return.

    `command` is the line that does it again, for the report; `keep(report, error)` gets it after
    each seed, with what a crashed one raised.
    """
    settings = recipe.settings(changed)
    origin, machine = made(command, recipe.seeds), describe()
    trials: list[Trial] = []
    looks: list[Looks] = []
    for seed in recipe.seeds:
        begun, error = time.perf_counter(), ""
        try:
            outcome = _found(recipe, run(seed, settings))
        except Exception as raised:
            outcome = Searched((), (Trial(settings=settings, outcome="crashed", accuracy=0.0),))
            error = f"{type(raised).__name__}: {raised}"
        took: dict[str, Any] = {}
        if recipe.about == "training":  # of a search each trial has reported its own
            took["seconds"] = time.perf_counter() - begun
        looks.append(outcome.looks)
        trials += [
            replace(trial, entry=recipe.title, seed=seed, **took) for trial in outcome.trials
        ]
        report = _report(recipe, settings, looks, trials)
        report = replace(report, made=origin, machines={MACHINE: machine})
        keep(report, error)
    return report


def series_to_target(
    looks: Sequence[Looks], target: float, in_a_row: int, of: str, ranks: int
) -> tuple[Series, Series, Series]:
    """Seconds to a target, epochs to it, and last accuracies: in each, one value for each run."""
    firsts, count = [reached(each, target, in_a_row) for each in looks], len(looks)
    seconds, epochs = (
        tuple(math.inf if first is None else getattr(first, name) for first in firsts)
        for name in ("seconds", "epochs")
    )
    ends = tuple(each[-1].accuracy if each else 0.0 for each in looks)
    return (
        Series("seconds to target", of, "s", seconds, count, "measured", False,
               STEP_PARTS + (COMMUNICATION,) * (ranks > 1), "slowest" if ranks > 1 else None),
        Series("epochs to target", of, "1", epochs, count, "measured", False),
        Series("accuracy", of, "1", ends, count, "measured", False, split=HELD_OUT,
               taken="at the end"),
    )  # fmt: skip


def slowest(ranks: Sequence[Looks]) -> Looks:
    """The looks of all ranks as those of one training: a look is over when the slowest rank has
    ended it."""
    if len({len(looks) for looks in ranks}) != 1 or not ranks[0]:
        raise ValueError(
            f"the ranks looked {[len(looks) for looks in ranks]} times at the data held out: each "
            "must return a Checkpoint for every look, all ranks the same looks"
        )
    return tuple(
        replace(together[0], seconds=max(look.seconds for look in together))
        for together in zip(*ranks, strict=True)
    )


def _found(recipe: Recipe, returned: Sequence[Looks | Searched | None]) -> Searched:
    """The result of one seed as `Searched`; a training becomes a search with one trial."""
    searched = [result for result in returned if isinstance(result, Searched)]
    if recipe.about == "training" and not searched:
        looks = slowest(returned)
        return Searched(looks, (Trial(outcome="kept", accuracy=looks[-1].accuracy),))
    if recipe.about != "search" or len(searched) != 1 or not searched[0].trials:
        raise ValueError(
            f"{recipe.program} is {recipe.unit}, and {len(searched)} of its ranks returned "
            "Searched. In a search one rank returns it, with all trials; in a training no rank"
        )
    return searched[0]


def has_worked(report: Report) -> bool:
    """Whether every seed of a recipe's report has reached the target."""
    seeds = report.made.seeds if report.made else None
    epochs = values(report, "epochs to target")
    return bool(seeds) and len(epochs) == len(seeds) and max(epochs) < math.inf


def values(report: Report, quantity: str) -> tuple[float, ...]:
    """All values of a quantity, seed after seed."""
    numbers = [
        series.values or ()
        for entry in report.entries or ()
        for series in entry.series or ()
        if series.quantity == quantity
    ]
    if len(numbers) != 1:
        raise ValueError(
            f"{report.title!r} is no report of a recipe: it has {len(numbers)} series of "
            f"{quantity!r}, and should have one"
        )
    return numbers[0]


def _report(
    recipe: Recipe, settings: dict[str, Value], looks: list[Looks], trials: list[Trial]
) -> Report:
    series = series_to_target(looks, recipe.target, recipe.in_a_row, recipe.unit, recipe.ranks)
    described = {**settings, "program": recipe.code}
    entry = Entry(recipe.title, MACHINE, recipe.ranks, recipe.ranks, described, series)
    if recipe.about == "search":
        tried = Counter(trial.seed for trial in trials)
        numbers = tuple(float(tried[seed]) for seed in recipe.seeds[: len(looks)])
        counts = Series("trials", recipe.unit, "1", numbers, len(looks), "measured", False,
                        better=LOWER)  # fmt: skip
        entry = replace(entry, series=(*series, counts))
    else:
        batch, shape = int(settings["batch"]), recipe.data.shape
        entry = replace(entry, batch=batch, shape=shape, searched=0)
        trials = [replace(trial, settings=described) for trial in trials]
    middle, _, _ = interval(series[0].values or ())
    says = f"{recipe.target:.0%} on held-out data in {middle:.3g} s"
    claim = Claim(
        says, recipe.about, "seconds to target", recipe.unit, middle, "medians", (recipe.title,)
    )
    return Report(
        title=recipe.title,
        data=recipe.data,
        entries=(entry,),
        trials=tuple(trials),
        target=Target(recipe.target, HELD_OUT, "before"),
        claims=(claim,) if middle < math.inf else (),
        left_out=(),
    )
