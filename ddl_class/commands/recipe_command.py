"""`ddl-teach recipe run`: carry a recipe out, keep its report, compare it with another."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import BrokenFile, load_program, read_pairs
from ddl_measure.recipes.beside import beside, check_same, settings_of
from ddl_measure.recipes.carry_out import carry_out, has_worked, values
from ddl_measure.recipes.recipe import Value, read_recipe
from ddl_measure.reports.file import load, save
from ddl_measure.reports.report import Report
from ddl_measure.reports.review import review, told
from ddl_teach import Ranks

MISSED = 1
PATIENCE = 3600.0  # seconds of one training or search


def run_recipe(options: argparse.Namespace) -> int:
    """Do what the command line says; return the status."""
    if not options.out.parent.is_dir():
        raise Mistake(f"There is no folder {options.out.parent} to write {options.out.name} into")
    if options.beside and options.beside.resolve() == options.out.resolve():
        raise Mistake(f"{options.out} is the file of --beside: give --out another one")
    for file in (options.recipe, options.beside):
        if file is not None and not file.is_file():
            there = ", ".join(sorted(path.name for path in file.parent.glob(f"*{file.suffix}")))
            raise Mistake(f"There is no file {file}. There are: {there or 'none of its kind'}")
    try:
        recipe = read_recipe(options.recipe)
        theirs = load(options.beside) if options.beside else None
        changed = read_pairs("--set", options.set)
        if theirs is not None:
            check_same(recipe, theirs)
            changed = {name: settings_of(theirs)[name] for name in recipe.free} | changed
        recipe.settings(changed)
        program = load_program(str(recipe.file.parent / recipe.program))
        if isinstance(recipe.data, str):
            find = load_program(str(recipe.file.parent / recipe.data))
            try:
                recipe = replace(recipe, data=find(**recipe.fixed))
            except TypeError as error:
                raise Mistake(f"{recipe.data} must take all fixed settings: {error}") from None
    except BrokenFile as error:
        print(error, file=sys.stderr)
        return MISSED
    except (ValueError, OSError) as error:
        raise Mistake(str(error)) from None
    words = [word for pair in changed.items() for word in ("--set", "{}={}".format(*pair))]
    command = shlex.join(["ddl-teach", "recipe", "run", str(options.recipe), *words])
    with Ranks(recipe.ranks) as ranks:

        def run(seed: int, settings: dict[str, Value]) -> Sequence[Any]:
            given = {"seed": seed, **settings}
            return ranks.run(
                program, recipe.ranks, timeout=PATIENCE, trace=False, strict=False,
                memory=None, **given,
            ).results  # fmt: skip

        def keep(report: Report, error: str) -> None:
            save(options.out, report)
            ends = values(report, "accuracy")
            seed = report.made.seeds[len(ends) - 1]
            what = [path.outcome for path in report.trials if path.seed == seed]
            outcome = what[0] if len(what) == 1 else f"{len(what)} trials"
            print(f"seed {seed}: {outcome}, ends at {ends[-1]:.1%}", flush=True)
            if error:
                print(error, file=sys.stderr)

        mine = carry_out(recipe, run, changed, command, keep)
    print(f"\nThe report is {options.out}. A reader of it:\n{told(review(mine))}")
    if theirs is not None:
        print(f"\n{beside(theirs, mine)}")
    missed = not has_worked(mine)
    print(f"\n{recipe.title}: {recipe.target:.0%} was {'NOT ' * missed}reached by every seed")
    return MISSED if missed else 0
