"""`ddl-teach competition`: make an entry, check it, build the page."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddl_class.competition.disciplines import Discipline
    from ddl_measure.to_accuracy import Evaluation

NAMES = ("digits", "code")


def add_competition(commands: argparse._SubParsersAction) -> None:
    """The words that the command line knows for it."""
    about = "measure, check and show the entries of a competition"
    competition = commands.add_parser("competition", help=about, description=about.capitalize())
    verbs = competition.add_subparsers(metavar="VERB", required=True)
    run = verbs.add_parser("run", help="train a team's program for the board, and keep its entry")
    run.add_argument("program", type=Path, metavar="FILE.py", help="with FORM and train")
    run.add_argument("--discipline", choices=NAMES, help="default: the one that FORM names")
    run.add_argument("--ranks", type=int, default=2, metavar="N", help="default: 2")
    run.add_argument("--box", nargs="?", const="box", metavar="NAME", help="on nodes of a box")
    run.add_argument("--out", type=Path, required=True, metavar="ENTRY.json")
    run.set_defaults(act=_run)
    check = verbs.add_parser("check", help="say what is wrong with an entry; 1 means something is")
    check.add_argument("entry", type=Path, metavar="ENTRY.json")
    check.add_argument("--house", type=Path, metavar="house.json", help="default: beside it")
    check.set_defaults(act=_check)
    page = verbs.add_parser("page", help="build the leaderboard from a folder of entries")
    page.add_argument("folder", type=Path, metavar="FOLDER")
    page.add_argument("--out", type=Path, required=True, metavar="PAGE.html")
    page.set_defaults(act=_page)


def _run(options: argparse.Namespace) -> int:
    from ddl_class.clusters.box.box import Box
    from ddl_class.commands.mistake import Mistake
    from ddl_class.commands.program_file import BrokenFile, load_program
    from ddl_class.competition.disciplines import DISCIPLINES
    from ddl_class.competition.entry import compete, read_form
    from ddl_measure.reports.file import save
    from ddl_runtime.diagnosis.deadlock import DiagnosedError
    from ddl_teach import Ranks

    if options.ranks < 1:
        raise Mistake(f"--ranks must be at least 1, not {options.ranks}")
    if not options.out.parent.is_dir():
        raise Mistake(f"there is no folder {options.out.parent} to write {options.out.name} into")
    words = ["ddl-teach", "competition", "run", options.program.name]
    try:
        train = load_program(f"{options.program}:train")
        form = read_form(getattr(train, "__globals__", {}).get("FORM"))
        if options.discipline not in (None, form.discipline):
            raise Mistake(
                f'--discipline {options.discipline}, but FORM["discipline"] is '
                f"{form.discipline!r} (digits where it says nothing): which one is it?"
            )
        discipline = DISCIPLINES[form.discipline]
        words += ["--ranks", str(options.ranks)]
        place = None
        if options.box:
            place, words = Box.own(options.box), [*words, "--box", options.box]
        with Ranks(options.ranks, on=place) as ranks:
            command = shlex.join([*words, "--out", options.out.name])
            run = partial(ranks.run, timeout=10 * discipline.limit, trace=False)
            tell = partial(_tell, discipline)
            report = compete(run, form, train, discipline, options.ranks, command, tell=tell)
    except (BrokenFile, DiagnosedError) as error:
        raise Mistake(str(error)) from error
    save(options.out, report)
    took = report.claims[0].number
    said = f"{report.claims[0].says} Median: {took:.3g} s"
    if took == float("inf"):
        said = "Most trainings did not come to the target, so this is no entry to be shown"
    print(f"{said}. {options.out} holds all of it")
    return 0


def _tell(discipline: Discipline, seed: int, first: Evaluation | None) -> None:
    there = f"there after {first.seconds:.3g} s" if first else f"not there in {discipline.limit} s"
    print(f"seed {seed}: {there}", flush=True)


def _check(options: argparse.Namespace) -> int:
    from ddl_class.commands.mistake import Mistake
    from ddl_class.competition.board import MEASURED, house_in, read_entry, read_house
    from ddl_class.competition.judge import faults

    beside = options.entry.parents[options.entry.name == MEASURED]
    house = read_house(options.house or house_in(beside))
    try:
        found = faults(read_entry(options.entry), house)
    except (ValueError, OSError) as error:
        raise Mistake(str(error)) from error
    print("\n".join(found) or f"{options.entry}: nothing found; it may be shown")
    return 1 if found else 0


def _page(options: argparse.Namespace) -> int:
    from ddl_class.competition.board import board
    from ddl_class.competition.page import page
    from ddl_runtime.records.whole_file import write_whole

    entries = board(options.folder)
    write_whole(options.out, page(entries))
    print(f"{options.out}: {len(entries.lines)} entries, {len(entries.refused)} refused")
    return 0
