"""`ddl-teach labs`: which there are, run one, mark what was handed in."""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from ddl_class.labs.options import add_program_options, words_of

if TYPE_CHECKING:
    from ddl_class.clusters.box.box import Box
    from ddl_class.labs.folders import Marked

LONGEST = 2000  # letters of one reason
EXAMPLES = """examples:
  ddl-teach labs                                  which there are
  ddl-teach labs run 1 --begin                    the questions, to fill in
  ddl-teach labs run 1 --ranks 4                  measure, on this machine
  ddl-teach labs run 1 --ranks 4 --box            measure, on the nodes of a box
  ddl-teach labs mark hand_in/1_hello_nodes       what is it worth?
  ddl-teach labs mark class/*/1_hello_nodes --csv marks.csv
"""


def add_labs(commands: argparse._SubParsersAction) -> None:
    """The words that the command line knows for it."""
    labs = commands.add_parser(
        "labs",
        help="the labs: list, run, mark",
        description="Afternoons on a cluster, real or in a box.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    labs.set_defaults(act=_list)
    verbs = labs.add_subparsers(metavar="VERB")
    run = verbs.add_parser(
        "run",
        help="run a lab's program on ranks",
        description="Run a lab's program on this machine or in a box; on Slurm submit its "
        "job.sbatch.",
    )
    run.add_argument("lab", metavar="LAB", help="its name or number")
    run.add_argument("--ranks", type=int, default=4, metavar="N", help="default: 4")
    run.add_argument("--box", nargs="?", const="box", metavar="NAME", help="on nodes of a box")
    run.add_argument("--survivors", action="store_true", help="ranks outlive one that dies")
    add_program_options(run)
    run.set_defaults(act=_run)
    mark = verbs.add_parser("mark", help="mark what was handed in", description="Mark folders.")
    mark.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    mark.add_argument("--csv", type=Path, metavar="FILE", help="a line for each folder")
    mark.set_defaults(act=_mark)


def _list(_: argparse.Namespace) -> int:
    from ddl_class.labs.folders import folders, title

    for name, folder in folders().items():
        print(f"{name:<16}{title(folder)}")
    return 0


def _run(options: argparse.Namespace) -> int:
    from ddl_class.clusters.box.box import Box
    from ddl_class.commands.mistake import Mistake
    from ddl_class.labs.folders import lab_folder
    from ddl_runtime.diagnosis.deadlock import DiagnosedError
    from ddl_runtime.launcher.mpiexec import (
        DETECTOR,
        fault_tolerance,
        mpi_command,
        mpi_environment,
        mpi_family,
        mpiexec_path,
    )

    if options.ranks < 1:
        raise Mistake(f"--ranks must be at least 1, not {options.ranks}")
    folder = lab_folder(options.lab)
    options.out = (options.out or Path("hand_in") / folder.name).resolve()
    program = [str(folder / "program.py"), *words_of(options)]
    sys.stdout.flush()
    if options.begin:
        start = [sys.executable]
    elif options.box:
        box, mpiexec = Box.own(options.box), mpiexec_path()
        _see_there(box, options.out)
        family = mpi_family(mpiexec)
        start = [*box.mpi_words(options.ranks, str(mpiexec), family), box.python]
    else:
        start = [*mpi_command(options.ranks), sys.executable]
    environment = mpi_environment()
    if options.survivors and not options.begin:
        try:
            start[-1:-1] = fault_tolerance(mpiexec_path())
        except DiagnosedError as error:
            raise Mistake(f"{error}") from error
        environment = DETECTOR | environment
    os.execvpe(start[0], [*start, *program], environment)


def _see_there(box: Box, folder: Path) -> None:
    """Nodes have a /tmp of their own: what is written into theirs goes with the box."""
    from ddl_class.commands.mistake import Mistake
    from ddl_class.labs.hand_in import make

    make(folder)
    with tempfile.NamedTemporaryFile(dir=folder) as mark:
        seen = box.hosts.run("node0", ["test", "-e", mark.name]).returncode == 0
    if not seen:
        raise Mistake(
            f"the nodes do not see {folder}. Take another --out, or make the box with "
            f"--share {folder}"
        )


def _mark(options: argparse.Namespace) -> int:
    from ddl_class.commands.mistake import Mistake
    from ddl_class.labs.folders import mark
    from ddl_runtime.records.whole_file import write_whole

    rows: list[list[str]] = []
    status = 0
    for folder in options.folders:
        name = _harmless(str(folder))
        try:
            marked = mark(folder)
        except Mistake as mistake:
            status, why = 1, _harmless(f"{mistake}")
            print(f"{name}: {why}\n", file=sys.stderr)
            rows.append([name, "", "", "", why])
            continue
        print(_told(marked), "\n")
        lost = "; ".join(f"{one.name}: {_harmless(one.why)}" for one in marked.lost)
        rows.append([name, marked.lab, f"{marked.points:g}", f"{marked.of:g}", lost])
    if options.csv:
        table = io.StringIO()
        csv.writer(table).writerows([["folder", "lab", "points", "of", "why"], *rows])
        write_whole(options.csv, table.getvalue())
    return status


def _told(marked: Marked) -> str:
    form = ", short form" if marked.short else ""
    lines = [f"{_harmless(str(marked.folder))}: {marked.lab}{form}"]
    for one in marked.marks:
        lines.append(f"  {one.points:>4g} of {one.of:g}  {one.name}")
        if one.points < one.of:
            why = textwrap.fill(_harmless(one.why), 84)
            lines.append(textwrap.indent(why, " " * 14))
    return "\n".join([*lines, f"  {marked.points:>4g} of {marked.of:g}  in all"])


def _harmless(text: str) -> str:
    """What stands in a hand-in is quoted, but must not steer the terminal, or fill it."""
    shown = "".join(one if one.isprintable() or one == "\n" else "?" for one in text[:LONGEST])
    return shown + "..." * (len(text) > LONGEST)
