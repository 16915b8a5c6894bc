"""`ddl-teach labs`: which there are, run one, mark what was handed in."""

import argparse
import csv
import io
import os
import sys
import tempfile
import textwrap
from pathlib import Path

from ddl_class.clusters.box.box import Box
from ddl_class.commands.mistake import Mistake
from ddl_class.labs import folders
from ddl_class.labs.hand_in import make
from ddl_class.labs.options import words_of
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.launcher.mpiexec import (
    DETECTOR,
    fault_tolerance,
    mpi_command,
    mpi_environment,
    mpi_family,
    mpiexec_path,
)
from ddl_runtime.records.whole_file import write_whole

LONGEST = 2000  # letters of one reason


def show(_: argparse.Namespace) -> int:
    """List the labs."""
    for name, folder in folders.folders().items():
        print(f"{name:<16}{folders.title(folder)}")
    return 0


def run(options: argparse.Namespace) -> int:
    """Become a lab's program, on ranks."""
    folder = folders.lab_folder(options.lab)
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
    make(folder)
    with tempfile.NamedTemporaryFile(dir=folder) as mark:
        seen = box.hosts.run("node0", ["test", "-e", mark.name]).returncode == 0
    if not seen:
        raise Mistake(
            f"the nodes do not see {folder}. Take another --out, or make the box with "
            f"--share {folder}"
        )


def mark(options: argparse.Namespace) -> int:
    """Mark what was handed in."""
    rows: list[list[str]] = []
    status = 0
    for folder in options.folders:
        name = _harmless(str(folder))
        try:
            marked = folders.mark(folder)
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


def _told(marked: folders.Marked) -> str:
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
