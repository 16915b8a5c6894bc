"""A team's entry: several trainings from seeds that are given, and all that must be said.

The form is what only the team knows: its settings, and every training that chose them. The rest is
measured or found out, so that an honest entry is less work than another one.
"""

import argparse
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ddl_class.clusters.box.box import Box
from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import BrokenFile, load_program
from ddl_class.competition.race import DISCIPLINES, Discipline, Train, ground, lap
from ddl_measure.interval import interval
from ddl_measure.machine import describe
from ddl_measure.recipes.carry_out import series_to_target
from ddl_measure.reports.file import save
from ddl_measure.reports.in_words import in_words
from ddl_measure.reports.made import made
from ddl_measure.reports.report import (
    A_TRAINING,
    HELD_OUT,
    OUTCOMES,
    VALIDATION,
    Claim,
    Entry,
    Report,
    Target,
    Trial,
)
from ddl_measure.to_accuracy import Evaluation
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.records.run import Run
from ddl_teach import Ranks
from ddl_teach.training.tasks.digits import Digits

SEEDS = tuple(range(101, 109))  # of the trainings that count; settings are chosen with others
NEEDED = ("team", "settings", "samples", "trials")
HOUSE = "the lab's machine"


@dataclass(frozen=True)
class EntryForm:
    """What the team says: `samples` of a step on each rank, and every training that was run to
    choose the settings, as (settings, seed, outcome); and which discipline it is for."""

    team: str
    settings: Mapping[str, Any]
    samples: int
    trials: Sequence[tuple[Mapping[str, Any], int, str]]
    discipline: str = "digits"


def read_form(form: Any) -> EntryForm:
    """A program's FORM, or a Mistake that says what it lacks."""
    if not isinstance(form, Mapping) or any(name not in form for name in NEEDED):
        raise Mistake(
            f"the program needs FORM = {{...}} with {', '.join(NEEDED)}: copy one from "
            "labs/9_competition"
        )
    samples = form["samples"]
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise Mistake(f'FORM["samples"] is {samples!r}: a whole number, of a step on each rank')
    for trial in form["trials"]:
        if not (isinstance(trial, tuple) and len(trial) == 3 and trial[2] in OUTCOMES):
            raise Mistake(
                f'FORM["trials"] has {trial!r}: each is (settings, seed, outcome), the last one '
                f"of {', '.join(OUTCOMES)}"
            )
    if form.get("discipline", "digits") not in DISCIPLINES:
        raise Mistake(
            f'FORM["discipline"] is {form["discipline"]!r}; there are {", ".join(DISCIPLINES)}'
        )
    return EntryForm(**{name: form[name] for name in (*NEEDED, "discipline") if name in form})


def compete(
    run: Callable[..., Run], form: EntryForm, train: Train, discipline: Discipline, ranks: int,
    command: str, seeds: Sequence[int] = SEEDS,
    tell: Callable[[int, Evaluation | None], None] = lambda seed, first: None,
) -> Report:  # fmt: skip
    """Train once for each seed by `run(program, ranks, **kwargs)`; returns the report.

    `tell(seed, first)` is called after each training; `first` is the look that met the goal.
    """
    place, trainings = run(ground, ranks).results[0], []
    for seed in seeds:
        looks = run(lap, ranks, train=train, discipline=discipline.name, seed=seed).results[0]
        trainings.append(looks)
        tell(seed, discipline.met(looks))
    return entry_of(form, trainings, ranks, place, command, seeds)


def entry_of(
    form: EntryForm, trainings: Sequence[Sequence[Evaluation]], ranks: int,
    place: Mapping[str, str], command: str, seeds: Sequence[int] = SEEDS,
) -> Report:  # fmt: skip
    """The report of trainings that `command` ran on `ranks` ranks, at that `place`."""
    discipline = DISCIPLINES[form.discipline]
    series = series_to_target(
        trainings, discipline.accuracy, discipline.in_a_row, A_TRAINING, ranks
    )
    entry = Entry(
        form.team, HOUSE, ranks, ranks, form.settings, series,
        form.samples * ranks, discipline.data().shape, len(form.trials), VALIDATION,
    )  # fmt: skip
    seconds = series[0].values or ()
    kept = [
        Trial(form.team, seed, form.settings, "kept", seconds=took if took < math.inf else None)
        for seed, took in zip(seeds, seconds, strict=True)
    ]
    tried = [Trial(form.team, seed, settings, outcome) for settings, seed, outcome in form.trials]
    claim = Claim(
        f"{form.team} trains {discipline.title} to {discipline.accuracy:.0%}.", "training",
        "seconds to target", A_TRAINING, interval(seconds)[0], "medians", (form.team,),
    )  # fmt: skip
    return Report(
        title=f"competition: {discipline.name}",
        made=made(command, seeds),
        machines={HOUSE: {**describe(), **place}},
        data=discipline.data(),
        entries=(entry,),
        trials=(*tried, *kept),
        target=Target(discipline.accuracy, HELD_OUT, "before"),
        claims=(claim,),
        left_out=(),
    )


def tried(
    rates: Sequence[float], batch: int, steps: int = 50, seed: int = 1
) -> tuple[float, list[tuple[dict[str, Any], int, str]]]:
    """The rate that led to the most right digits, and all trainings that chose it, as the form of
    an entry names them.

    On data-parallel ranks a step with the whole batch is the same as on one process (unit 08), so
    no ranks are needed here. The rate is chosen on validation data; the held-out data stay unseen.
    """
    task = Digits(batch, seed=seed, validation=True)
    right = {}
    for rate in rates:
        weights = task.initial()
        for step in range(steps):
            weights -= rate * task.gradient(weights, 0, 1, step)[1]
        right[rate] = task.accuracy(weights)
    best = max(right, key=right.get)
    outcomes = {rate: "chosen" if rate == best else "not chosen" for rate in rates}
    return best, [({"rate": rate}, seed, outcome) for rate, outcome in outcomes.items()]


def run(options: argparse.Namespace) -> int:
    """Train a team's program for the board, and keep its entry."""
    if not options.out.parent.is_dir():
        raise Mistake(f"there is no folder {options.out.parent} to write {options.out.name} into")
    words = ["ddl-teach", "competition", "run", options.program.name]
    words += ["--ranks", str(options.ranks), *(["--box", options.box] if options.box else [])]
    command = shlex.join([*words, "--out", options.out.name])
    try:
        train = load_program(f"{options.program}:train")
        form = read_form(getattr(train, "__globals__", {}).get("FORM"))
        if options.discipline not in (None, form.discipline):
            raise Mistake(
                f'--discipline {options.discipline}, but FORM["discipline"] is '
                f"{form.discipline!r} (digits where it says nothing): which one is it?"
            )
        discipline = DISCIPLINES[form.discipline]

        def tell(seed: int, first: Evaluation | None) -> None:
            never = f"not there in {discipline.limit} s"
            there = f"there after {first.seconds:.3g} s" if first else never
            print(f"seed {seed}: {there}", flush=True)

        place = Box.find(options.box) if options.box else None
        with Ranks(options.ranks, on=place) as ranks:
            train_once = partial(ranks.run, timeout=10 * discipline.limit, trace=False)
            report = compete(
                train_once, form, train, discipline, options.ranks, command, tell=tell
            )
    except (BrokenFile, DiagnosedError) as error:
        raise Mistake(str(error)) from error
    save(options.out, report)
    print(in_words(report))
    if math.isinf(report.claims[0].number):
        print("Most trainings did not come to the target, so this is no entry to be shown.")
    print(f"{options.out} holds all of it")
    return 0
