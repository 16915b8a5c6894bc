"""The command-line tool: what people do outside a notebook.

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
from ddl_class.commands.mistake import Mistake
from ddl_class.commands.network_text import listing
from ddl_class.commands.words import command, takes
from ddl_class.competition.command import add_competition
from ddl_class.labs.options import add_program_options
from ddl_teach.fault_tolerance.again import CRASHES

MISTAKEN, INTERRUPTED = 2, 130

# Of each command: what it does in a line, then a paragraph, then what is to be seen below it all.
RUN = """run a rank program on real MPI processes or on simulated ranks

Run a function whose first argument is a communicator, once on every rank.

examples:
  ddl-teach run program.py:main --ranks 4
  ddl-teach run program.py:main --ranks 2 --arg size=1000 --arg algorithm=ring
  ddl-teach run program.py:main --ranks 4 --plot timeline.png --trace timeline.json
  ddl-teach run program.py:main --simulate 4096 --network uniform:latency=1us,bandwidth=10GB/s

networks and their settings (times in s, ms, us, ns; bandwidths in GB/s, Gbit/s and the like):
"""
DOCTOR = """check this machine, or a class's accounts, and say how to mend what is wrong

Check Python, MPI, cores, GPU and left-over processes; 1 means a failure.

for a class, from the instructor's account; accounts.txt has a name a line:
  ddl-teach doctor --class accounts.txt --by sudo      accounts of this machine
  ddl-teach doctor --class accounts.txt --by ssh       account@host a line, with your key
  ddl-teach doctor --class accounts.txt --by slurm     a job of one task for each account
  ddl-teach doctor --class FOLDER --accounts accounts.txt     learners' own machines: the files
                       that they have made by 'ddl-teach doctor --out NAME.json' and sent in
"""
LAB = """open the course in JupyterLab

Open the first notebook in JupyterLab.

Words after -- go to JupyterLab, e.g. ddl-teach lab -- --port 9999"""
GRADE = """grade a folder of submitted notebooks, each in a sandbox

Grade submissions that nobody has to trust: scores, feedback pages, a CSV.

An interrupted grading goes on where it was when the same line is typed again."""
RECIPE = """carry out a recipe, and say whether its target was reached

A recipe says what is fixed, what is free, and the target."""
RECIPE_RUN = """train once for each seed; with --beside, repeat somebody's run

Train once for each seed and keep a report of every training; 1 means that the target was missed.
"""
PROGRESS = """show which exercises are solved

List the exercises of the course and how far each is.

It is kept in Jupyter's data folder, or in the folder DDL_TEACH_DATA names."""
RELEASE = """for teachers: make a folder for nbgrader, with the notebooks to hand out

Make or renew a folder for nbgrader from the sources of the notebooks."""
LABS = """the labs: list, run, mark

Afternoons on a cluster, real or in a box.

examples:
  ddl-teach labs                                  which there are
  ddl-teach labs run 1 --begin                    the questions, to fill in
  ddl-teach labs run 1 --ranks 4                  measure, on this machine
  ddl-teach labs run 1 --ranks 4 --box            measure, on the nodes of a box
  ddl-teach labs mark hand_in/1_hello_nodes       what is it worth?
  ddl-teach labs mark class/*/1_hello_nodes --csv marks.csv
"""
LABS_RUN = """run a lab's program on ranks

Run a lab's program on this machine or in a box; on Slurm submit its job.sbatch."""
AGAIN = """start a program again after each crash, until it is done

Start a program again after each crash until it is done; asked to go by SIGTERM or SIGUSR1, tell
it by SIGUSR1, wait, and end with status 75.

examples:
  ddl-teach again -- mpiexec -n 4 python -m ddl_teach.fault_tolerance.long_run FOLDER
  ddl-teach box exec head ddl-teach again --until FOLDER/result.json -- mpiexec ...
  ddl-teach again --requeue -- srun --mpi=pmix python ...     in a batch script of Slurm

The program must resume by itself: ddl_teach/fault_tolerance/long_run.py shows how.
"""


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says and return the exit status."""
    options = parser().parse_args(words)
    try:
        status: int = options.act(options)
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
    _add_doctor(commands)
    lab = command(commands, "lab", LAB, "ddl_class.release.lab:open_lab")
    takes(lab, "others -- OPTION", argparse.SUPPRESS, nargs="*")
    _add_grade(commands)
    recipe = command(commands, "recipe", RECIPE)
    _add_recipe(recipe.add_subparsers(metavar="ACTION", required=True))
    command(commands, "progress", PROGRESS, "ddl_class.cli:_progress")
    takes(command(commands, "release", RELEASE, "ddl_class.cli:_release"), "folder FOLDER")
    add_box(commands)
    add_competition(commands)
    add_cluster(commands)
    labs = command(commands, "labs", LABS, "ddl_class.labs.command:show")
    _add_labs(labs.add_subparsers(metavar="VERB"))
    _add_again(commands)
    return parser


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    act = "ddl_class.commands.run_program:run_program"
    run = command(commands, "run", RUN + listing(), act)
    takes(run, "program FILE.py:FUNCTION")
    ground = run.add_mutually_exclusive_group()
    takes(ground, "--ranks N", "real MPI processes (default: 4)", default=4)
    takes(ground, "--simulate N", "simulated ranks, in virtual time, instead")
    takes(run, "--box NAME", "on nodes of a box", nargs="?", const="box")
    takes(run, "--network NETWORK", "with --simulate: one of those listed below")
    threads = "with --simulate: a thread for each rank, for collectives inside torch's backward"
    takes(run, "--threads", threads)
    takes(run, "--timeout SECONDS", "stop real ranks after so long (default: 60)", default=60.0)
    takes(run, "--arg NAME=VALUE", "an argument; repeatable", action="append", default=[])
    takes(run, "--device-path PATH", "arrays on devices go that way")
    takes(run, "--plot FILE.png", "draw the timeline")
    takes(run, "--trace FILE.json", "save the timeline for ui.perfetto.dev")


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = command(commands, "doctor", DOCTOR, "ddl_class.doctor.doctor_command:doctor")
    takes(doctor, "--out FILE.json", "keep the findings, too")
    those = "the accounts of this file, or the findings in this folder, on one page"
    takes(doctor, "--class ACCOUNTS", those, type=Path, dest="those")
    doctor.add_argument("--by", choices=("sudo", "ssh", "slurm"), help="how to enter an account")
    takes(doctor, "--accounts FILE", "who should have sent in")
    takes(doctor, "--page FILE.html", "the class as a page, too")
    takes(doctor, "--at-once N", "accounts at a time (default: 4)", type=int, default=4)


def _add_grade(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    grade = command(commands, "grade", GRADE, "ddl_class.grading.batch:grade_folder")
    layouts = "holds STUDENT/ASSIGNMENT/NOTEBOOK.ipynb, as nbgrader collects, or STUDENT.ipynb"
    takes(grade, "submissions SUBMISSIONS", layouts, type=Path)
    takes(grade, "--source FILE.py", "the instructor's version", required=True)
    takes(grade, "--out GRADES", "a folder for the grades of all units", type=Path, required=True)
    seconds = "for one exercise of one submission (default: 30)"
    takes(grade, "--timeout SECONDS", seconds, default=30.0)
    at_once = "submissions graded at the same time (default: one a core)"
    takes(grade, "--jobs N", at_once, default=os.cpu_count() or 1)
    only = "only scores: no pages, no nbgrader"
    takes(grade, "--no-feedback", only, dest="feedback", action="store_false")


def _add_recipe(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    act = "ddl_class.commands.recipe_command:run_recipe"
    run = command(actions, "run", RECIPE_RUN, act)
    takes(run, "recipe FILE.toml")
    other = "another value for what is free; can be repeated"
    takes(run, "--set NAME=VALUE", other, action="append", default=[])
    mine = "where the report goes (default: report.json)"
    takes(run, "--out MINE.json", mine, default=Path("report.json"))
    theirs = "their report: take its settings, and show both side by side"
    takes(run, "--beside THEIRS.json", theirs)


def _add_labs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = command(verbs, "run", LABS_RUN, "ddl_class.labs.command:run")
    takes(run, "lab LAB", "its name or number")
    takes(run, "--ranks N", "default: 4", default=4)
    takes(run, "--box NAME", "on nodes of a box", nargs="?", const="box")
    takes(run, "--survivors", "ranks outlive one that dies")
    add_program_options(run)
    text = "mark what was handed in\n\nMark folders."
    mark = command(verbs, "mark", text, "ddl_class.labs.command:mark")
    takes(mark, "folders FOLDER", nargs="+")
    takes(mark, "--csv FILE", "a line for each folder")


def _add_again(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    again = command(commands, "again", AGAIN, "ddl_class.commands.again_command:run_again")
    takes(again, "--until FILE", "it is done once this exists")
    crashes = f"give up after more; default: {CRASHES}"
    takes(again, "--crashes N", crashes, type=int, default=CRASHES)
    takes(again, "--requeue", "asked to go by SIGUSR1, have Slurm start this job again")
    takes(again, "command -- COMMAND", nargs="+")


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
