"""Another person's report and one's own, side by side: has it been repeated?

Two things are asked, and they are not the same. Is the *learning* the same: do the same seeds with
the same settings come to the target after the same epochs? It must be, wherever the code runs, up
to the order in which numbers are added. Is the *speed* the same? On another machine it is not; the
ratio of medians says how many times, with its interval.
What to look at: lines marked by a star differ, and could be the reason.
"""

import math
from collections.abc import Iterator

import numpy as np

from ddl_measure.interval import ratio_of_medians
from ddl_measure.recipes.carry_out import has_worked, values
from ddl_measure.recipes.recipe import Recipe
from ddl_measure.reports.report import Report, Trial

NAMES, WIDTH = 27, 30


def beside(theirs: Report, mine: Report) -> str:
    """Both reports of one recipe as a text, theirs to the left."""
    lines = [f"{mine.title}", f"  {'':<{NAMES}}{'theirs':<{WIDTH}}yours"]
    for name, mine_of, other in _rows(theirs, mine):
        mark = "*" if mine_of != other else " "
        if (
            mine_of != other and max(len(mine_of), len(other)) >= WIDTH
        ):  # all of it: where do they differ?
            lines += [f"{mark} {name}", f"    theirs  {mine_of}", f"    yours   {other}"]
        else:
            lines.append(f"{mark} {name:<{NAMES}}{_cut(mine_of):<{WIDTH}}{_cut(other)}")
    return "\n".join([*lines, *_verdicts(theirs, mine)])


def check_same(recipe: Recipe, theirs: Report) -> None:
    """Refuse a report of another recipe."""
    target = theirs.target.accuracy if theirs.target else None
    used = settings_of(theirs)
    other = [name for name, value in recipe.fixed.items() if used.get(name) != value]
    if theirs.title != recipe.title or other or target != recipe.target:
        unlike = ", where " * bool(other) + ", ".join(
            f"{setting}={used.get(setting)}" for setting in other
        )
        raise ValueError(
            f"theirs is a report of {theirs.title!r} to {target}{unlike}; {recipe.title!r} to "
            f"{recipe.target} is another recipe, so nothing is repeated"
        )


def settings_of(report: Report) -> dict[str, object]:
    """The settings of a recipe's report."""
    entries = report.entries or ()
    if len(entries) != 1 or entries[0].settings is None:
        raise ValueError(f"{report.title!r} is no report of a recipe: they have one entry")
    return dict(entries[0].settings)


def _rows(theirs: Report, mine: Report) -> Iterator[tuple[str, str, str]]:
    for name in ("date", "code", "lock", "seeds"):
        yield name, *(str(getattr(report.made, name, "not said")) for report in (theirs, mine))
    machines = [next(iter((report.machines or {}).values()), {}) for report in (theirs, mine)]
    data = (
        "not said" if each is None else f"{each.training} + {each.held_out} {each.name}"
        for each in (theirs.data, mine.data)
    )
    yield "data", *data
    for name in dict.fromkeys([*machines[0], *machines[1]]):
        if name != "date":
            yield name, *(machine.get(name, "not said") for machine in machines)
    settings = [settings_of(report) for report in (theirs, mine)]
    for name in dict.fromkeys([*settings[0], *settings[1]]):
        yield name, *(str(each.get(name, "not said")) for each in settings)
    for name in ("epochs to target", "accuracy", "seconds to target"):
        both = [values(report, name) for report in (theirs, mine)]
        yield f"{name}, median", *(f"{np.median(each):.4g} of {len(each)}" for each in both)


def _verdicts(theirs: Report, mine: Report) -> Iterator[str]:
    for report, whose in ((theirs, "theirs"), (mine, "yours")):
        epochs = values(report, "epochs to target")
        there, asked = sum(each < math.inf for each in epochs), report.made.seeds or epochs
        worked = "the recipe has worked" if has_worked(report) else "the recipe has NOT worked"
        yield f"{whose}: {there} of {len(asked)} reached the target, {worked}"
    both_ran = min(len(_seeds(theirs)), len(_seeds(mine)))
    same_seeds = _seeds(theirs)[:both_ran] == _seeds(mine)[:both_ran]
    if settings_of(theirs) == settings_of(mine) and same_seeds:
        both = [
            np.array(
                [
                    values(report, quantity)[:both_ran]
                    for quantity in ("epochs to target", "accuracy")
                ]
            )
            for report in (theirs, mine)
        ]
        same = np.all(both[0] == both[1], axis=0)
        yield f"learning: the same to the last digit for {same.sum()} of {len(same)} seeds"
        tried = [{_trial(trial) for trial in report.trials or ()} for report in (theirs, mine)]
        if any(trial.outcome == "chosen" for trial in mine.trials or ()):
            yield f"trials: {len(tried[0] & tried[1])} of {len(tried[0] | tried[1])} are in both"
    else:
        yield "learning: other settings or seeds, so it need not be the same"
    seconds = [values(report, "seconds to target") for report in (theirs, mine)]
    if all(max(each) < math.inf for each in seconds):
        middle, low, high = ratio_of_medians(seconds[1], seconds[0])
        yield f"speed: yours takes {middle:.3g} times theirs ({low:.3g} to {high:.3g})"
    else:
        yield "speed: some never came to the target, so there is no ratio"


def _seeds(report: Report) -> tuple[int, ...]:
    """The seeds that were run: an interrupted report has not all of them."""
    seeds = report.made.seeds if report.made and report.made.seeds else ()
    return seeds[: len(values(report, "epochs to target"))]


def _trial(trial: Trial) -> tuple[object, ...]:
    """What must be the same in every repetition."""
    return trial.seed, str(sorted((trial.settings or {}).items())), trial.outcome, trial.loss


def _cut(text: str) -> str:
    return text if len(text) < WIDTH else f"{text[: WIDTH - 2]}…"
