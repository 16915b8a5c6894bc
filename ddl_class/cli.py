"""The command-line tool: what people do outside a notebook.

    ddl-teach run program.py:function --ranks 4
    ddl-teach run program.py:function --simulate 4096 --network torus:...
    ddl-teach box up --nodes 4 --rate 100mbit
    ddl-teach doctor
    ddl-teach lab
    ddl-teach progress
    ddl-teach recipe run FILE.toml
    ddl-teach release FOLDER
    ddl-teach competition page FOLDER --out page.html
    ddl-teach cluster start slurm --ranks 8
    ddl-teach labs mark hand_in/1_hello_nodes
    ddl-teach again -- mpiexec -n 4 python program.py

It ends with 0 when all went well, 1 when the program failed, the doctor found a failure or a
recipe missed its target, 2 when what was typed cannot be done.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ddl_class.clusters.box.command import add_box
from ddl_class.clusters.command import add_cluster
from ddl_class.commands.again_command import add_again
from ddl_class.commands.mistake import Mistake
from ddl_class.competition.command import add_competition
from ddl_class.doctor.doctor_command import add_doctor
from ddl_class.labs.command import add_labs

MISTAKEN, INTERRUPTED = 2, 130

RUN_EXAMPLES = """examples:
  ddl-teach run program.py:main --ranks 4
  ddl-teach run program.py:main --ranks 2 --arg size=1000 --arg algorithm=ring
  ddl-teach run program.py:main --ranks 4 --plot timeline.png --trace timeline.json
  ddl-teach run program.py:main --simulate 4096 --network uniform:latency=1us,bandwidth=10GB/s

networks and their settings (times in s, ms, us, ns; bandwidths in GB/s, Gbit/s and the like):
"""


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says and return the exit status."""
    options = parser().parse_args(words)
    try:
        status = options.act(options)
        sys.stdout.flush()
        return status
    except Mistake as mistake:
        print(f"ddl-teach: {mistake}", file=sys.stderr)
        return MISTAKEN
    except BrokenPipeError:  # whoever read the output has had enough, as in `| head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as interrupt:
        print(str(interrupt) or "Interrupted.", file=sys.stderr)
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """The whole command line, with its commands and their options."""
    parser = argparse.ArgumentParser(
        prog="ddl-teach",
        description="Run rank programs, check this machine, open the course.",
        epilog="ddl-teach COMMAND --help says more about each.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_run(commands)
    add_doctor(commands)
    lab = commands.add_parser(
        "lab",
        help="open the course in JupyterLab",
        description="Open the first notebook in JupyterLab.",
        epilog="Words after -- go to JupyterLab, e.g. ddl-teach lab -- --port 9999",
    )
    lab.add_argument("others", nargs="*", metavar="-- OPTION", help=argparse.SUPPRESS)
    lab.set_defaults(act=_lab)
    _add_grade(commands)
    _add_recipe(commands)
    progress = commands.add_parser(
        "progress",
        help="show which exercises are solved",
        description="List the exercises of the course and how far each is.",
        epilog="It is kept in Jupyter's data folder, or in the folder DDL_TEACH_DATA names.",
    )
    progress.set_defaults(act=_progress)
    release = commands.add_parser(
        "release",
        help="for teachers: make a folder for nbgrader, with the notebooks to hand out",
        description="Make or renew a folder for nbgrader from the sources of the notebooks.",
    )
    release.add_argument("folder", type=Path, metavar="FOLDER")
    release.set_defaults(act=_release)
    add_box(commands)
    add_competition(commands)
    add_cluster(commands)
    add_labs(commands)
    add_again(commands)
    return parser


def _add_run(commands: argparse._SubParsersAction) -> None:
    from ddl_class.commands.network_text import listing

    run = commands.add_parser(
        "run",
        help="run a rank program on real MPI processes or on simulated ranks",
        description="Run a function whose first argument is a communicator, once on every rank.",
        epilog=RUN_EXAMPLES + listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("program", metavar="FILE.py:FUNCTION")
    ground = run.add_mutually_exclusive_group()
    ground.add_argument(
        "--ranks", type=_count, default=4, metavar="N", help="real MPI processes (default: 4)"
    )
    ground.add_argument(
        "--simulate", type=_count, metavar="N", help="simulated ranks, in virtual time, instead"
    )
    run.add_argument("--box", nargs="?", const="box", metavar="NAME", help="on nodes of a box")
    run.add_argument("--network", help="with --simulate: one of those listed below")
    run.add_argument(
        "--threads",
        action="store_true",
        help="with --simulate: a thread for each rank, for collectives inside torch's backward",
    )
    run.add_argument(
        "--timeout",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="stop real ranks after so long (default: 60)",
    )
    run.add_argument(
        "--arg", action="append", default=[], metavar="NAME=VALUE", help="an argument; repeatable"
    )
    run.add_argument("--device-path", metavar="PATH", help="arrays on devices go that way")
    run.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the timeline")
    run.add_argument(
        "--trace", type=Path, metavar="FILE.json", help="save the timeline for ui.perfetto.dev"
    )
    run.set_defaults(act=_run)


def _add_grade(commands: argparse._SubParsersAction) -> None:
    grade = commands.add_parser(
        "grade",
        help="grade a folder of submitted notebooks, each in a sandbox",
        description="Grade submissions that nobody has to trust: scores, feedback pages, a CSV.",
        epilog="An interrupted grading goes on where it was when the same line is typed again.",
    )
    grade.add_argument(
        "submissions",
        type=Path,
        metavar="SUBMISSIONS",
        help="holds STUDENT/ASSIGNMENT/NOTEBOOK.ipynb, as nbgrader collects, or STUDENT.ipynb",
    )
    grade.add_argument(
        "--source", type=Path, required=True, metavar="FILE.py", help="the instructor's version"
    )
    grade.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="GRADES",
        help="a folder for the grades of all units",
    )
    grade.add_argument(
        "--timeout",
        type=_seconds,
        default=30.0,
        metavar="SECONDS",
        help="for one exercise of one submission (default: 30)",
    )
    grade.add_argument(
        "--jobs",
        type=_count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="submissions graded at the same time (default: one a core)",
    )
    grade.add_argument(
        "--no-feedback",
        dest="feedback",
        action="store_false",
        help="only scores: no pages, no nbgrader",
    )
    grade.set_defaults(act=_grade)


def _add_recipe(commands: argparse._SubParsersAction) -> None:
    recipe = commands.add_parser(
        "recipe",
        help="carry out a recipe, and say whether its target was reached",
        description="A recipe says what is fixed, what is free, and the target.",
    )
    actions = recipe.add_subparsers(metavar="ACTION", required=True)
    run = actions.add_parser(
        "run",
        help="train once for each seed; with --beside, repeat somebody's run",
        description="Train once for each seed and keep a report of every training; 1 means that "
        "the target was missed.",
    )
    run.add_argument("recipe", type=Path, metavar="FILE.toml")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another value for what is free; can be repeated",
    )
    run.add_argument(
        "--out",
        type=Path,
        default=Path("report.json"),
        metavar="MINE.json",
        help="where the report goes (default: report.json)",
    )
    run.add_argument(
        "--beside",
        type=Path,
        metavar="THEIRS.json",
        help="their report: take its settings, and show both side by side",
    )
    run.set_defaults(act=_recipe)


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"a whole number, at least 1, not '{text}'")
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"a positive number of seconds, not '{text}'")
    return seconds


def _run(options: argparse.Namespace) -> int:
    from ddl_class.commands.run_program import run_program

    return run_program(options)


def _lab(options: argparse.Namespace) -> int:
    from ddl_class.release.lab import open_lab

    return open_lab(options.others)


def _recipe(options: argparse.Namespace) -> int:
    from ddl_class.commands.recipe_command import run_recipe

    return run_recipe(options)


def _progress(_: argparse.Namespace) -> int:
    from ddl_class.exercises.progress import progress_text

    print(progress_text())
    return 0


def _release(options: argparse.Namespace) -> int:
    from ddl_class.release.handout import hand_out

    try:
        for path in hand_out(options.folder):
            print(f"to hand out: {path}")
    except OSError as error:
        raise Mistake(f"{options.folder} cannot be written: {error}") from None
    return 0


def _grade(options: argparse.Namespace) -> int:
    from ddl_class.grading.command import grade_folder

    return grade_folder(options)
