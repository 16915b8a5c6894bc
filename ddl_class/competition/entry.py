"""A team's entry: several trainings from seeds that nobody chooses, and all that must be said.

The form is what only the team knows: its settings, and every training that chose them. The rest is
measured or found out, so that an honest entry is less work than another one.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ddl_class.commands.mistake import Mistake
from ddl_class.competition.disciplines import DISCIPLINES, Discipline
from ddl_class.competition.ground import ground
from ddl_class.competition.lap import Train, lap
from ddl_measure.interval import interval
from ddl_measure.machine import describe
from ddl_measure.reports.made import made
from ddl_measure.reports.report import (
    A_TRAINING,
    COMMUNICATION,
    HELD_OUT,
    OUTCOMES,
    STEP_PARTS,
    VALIDATION,
    Claim,
    Entry,
    Report,
    Series,
    Target,
    Trial,
)
from ddl_measure.to_accuracy import Evaluation, reached
from ddl_runtime.records.run import Run

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
    """Train once for each seed by `run(program, ranks, **kwargs)`; the report of it.

    `tell(seed, first)` is called after each training, with the look at which it was there.
    """
    place, trainings = run(ground, ranks).results[0], []
    for seed in seeds:
        looks = run(lap, ranks, train=train, discipline=discipline.name, seed=seed).results[0]
        trainings.append(looks)
        tell(seed, reached(looks, discipline.accuracy, discipline.in_a_row))
    return entry_of(form, trainings, ranks, place, command, seeds)


def entry_of(
    form: EntryForm, trainings: Sequence[Sequence[Evaluation]], ranks: int, place: Mapping[str,
    str],
    command: str, seeds: Sequence[int] = SEEDS,
) -> Report:  # fmt: skip
    """The report of trainings that `command` ran on so many ranks, at that `place`."""
    discipline = DISCIPLINES[form.discipline]
    firsts = [reached(looks, discipline.accuracy, discipline.in_a_row) for looks in trainings]
    entry = Entry(
        form.team, HOUSE, ranks, ranks, form.settings, _series(trainings, firsts, ranks),
        form.samples * ranks, discipline.data().shape, len(form.trials), VALIDATION,
    )  # fmt: skip
    seconds = [math.inf if first is None else first.seconds for first in firsts]
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


def _series(
    trainings: Sequence[Sequence[Evaluation]], firsts: Sequence[Evaluation | None], ranks: int
) -> tuple[Series, ...]:
    count, parts = len(trainings), STEP_PARTS + (COMMUNICATION,) * (ranks > 1)
    seconds, epochs = (
        tuple(math.inf if it is None else getattr(it, name) for it in firsts)
        for name in ("seconds", "epochs")
    )
    ends = tuple(looks[-1].accuracy for looks in trainings)
    return (
        Series("seconds to target", A_TRAINING, "s", seconds, count, "measured", False, parts,
               "slowest" if ranks > 1 else None),
        Series("epochs to target", A_TRAINING, "1", epochs, count, "measured", False),
        Series("accuracy", A_TRAINING, "1", ends, count, "measured", False, split=HELD_OUT,
               taken="at the end"),
    )  # fmt: skip
