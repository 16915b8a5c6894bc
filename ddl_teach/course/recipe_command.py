"""`ddl-teach recipe run`: carry a recipe out, keep its report, hold it against somebody else's.

The exit status is 0 if every seed has reached the target and 1 if one has not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from ddl_teach import Ranks
from ddl_teach.course.mistake import Mistake
from ddl_teach.course.program_file import BrokenFile, load_program, read_pairs
from ddl_teach.measure.recipes.beside import beside, check_same, settings_of
from ddl_teach.measure.recipes.carry_out import Looks, carry_out, has_worked
from ddl_teach.measure.recipes.recipe import Recipe, Value, read_recipe
from ddl_teach.measure.reports.file import load, save
from ddl_teach.measure.reports.report import Report
from ddl_teach.measure.reports.review import review, told

MISSED = 1
PATIENCE = 3600.0  # seconds of one training


def run_recipe(options: argparse.Namespace) -> int:
    """Do what the command line says; return the status."""
    if not options.out.parent.is_dir():
        raise Mistake(f"There is no folder {options.out.parent} to write {options.out.name} into")
    try:
        recipe = read_recipe(options.recipe)
        theirs = load(options.beside) if options.beside else None
        changed = read_pairs("--set", options.set)
        if theirs is not None:
            check_same(recipe, theirs)
            changed = {name: settings_of(theirs)[name] for name in recipe.free} | changed
        recipe.settings(changed)
        program = load_program(str(recipe.file.parent / recipe.program))
    except BrokenFile as error:
        print(error, file=sys.stderr)
        return MISSED
    except (ValueError, OSError) as error:
        raise Mistake(str(error)) from None
    words = "".join(f" --set {name}={value}" for name, value in changed.items())
    command = f"ddl-teach recipe run {options.recipe}{words}"
    with Ranks(recipe.ranks) as ranks:
        train = _training(recipe, ranks, program)
        mine = carry_out(recipe, train, changed, command, _keeper(options))
    print(f"\nThe report is {options.out}. A reader of it:\n{told(review(mine))}")
    if theirs is not None:
        print(f"\n{beside(theirs, mine)}")
    worked = has_worked(mine)
    said = "reached by every seed" if worked else "NOT reached by every seed"
    print(f"\n{recipe.title}: {recipe.target:.0%} was {said}")
    return 0 if worked else MISSED


def _training(
    recipe: Recipe, ranks: Ranks, program: Callable
) -> Callable[[int, dict[str, Value]], list[Looks]]:
    def train(seed: int, settings: dict[str, Value]) -> list[Looks]:
        return ranks.run(
            program, recipe.ranks, timeout=PATIENCE, trace=False, seed=seed, **settings
        ).results

    return train


def _keeper(options: argparse.Namespace) -> Callable[[Report, str], None]:
    def keep(report: Report, error: str) -> None:
        save(options.out, report)
        trial = report.trials[-1]
        print(f"seed {trial.seed}: {trial.outcome}, ends at {trial.accuracy:.1%}", flush=True)
        if error:
            print(error, file=sys.stderr)

    return keep
