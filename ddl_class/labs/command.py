"""`ddl-teach labs`: which labs there are, run one, mark what was handed in."""

import argparse
import csv
import io
import json
import os
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ddl_class.clusters.box.box import Box
from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import import_file
from ddl_class.labs.hand_in import MEASURED, Lab, prepare, read_answers, text_of
from ddl_class.labs.marking import Contradiction, Mark
from ddl_class.labs.options import words_of
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.launcher import mpiexec
from ddl_runtime.records.whole_file import write_whole

LABS = Path(__file__).resolve().parents[2] / "labs"
UNLIKE = (  # what checkers stumble over where anything may stand
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class Marked:
    """One folder that was handed in."""

    lab: str
    short: bool
    marks: Sequence[Mark]

    @property
    def lost(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.points < mark.of]

    @property
    def points(self) -> float:
        return sum(mark.points for mark in self.marks)

    @property
    def of(self) -> float:
        return sum(mark.of for mark in self.marks)


def lab_folders() -> dict[str, Path]:
    """The labs by their names, in their order."""
    folders = [path.parent for path in LABS.glob("[1-9]*_*/worksheet.md")]
    folders.sort(key=lambda folder: int(folder.name.partition("_")[0]))
    return {folder.name: folder for folder in folders}


def lab_folder(name: str) -> Path:
    """The folder of a lab; its number is enough as the name."""
    there = lab_folders()
    for known, path in there.items():
        if name in (known, known.partition("_")[0]):
            return path
    where = f"; they are {', '.join(there)}" if there else f": {LABS} has none. Use a checkout"
    raise Mistake(f"there is no lab {name!r}{where}")


def title(folder: Path) -> str:
    """The first line of its worksheet."""
    worksheet = (folder / "worksheet.md").read_text(encoding="utf-8")
    return worksheet.partition("\n")[0].lstrip("# ")


def mark_folder(folder: Path) -> Marked:
    """Mark the folder that was handed in. Nothing of it is run."""
    path = folder / MEASURED
    try:
        measured = json.loads(text_of(path))
    except FileNotFoundError:
        raise Mistake(f"{folder} has no {path.name}: was the lab measured?") from None
    except (OSError, ValueError, RecursionError) as error:
        raise Mistake(f"{path} cannot be read: {error}") from None
    if not isinstance(measured, dict):
        raise Mistake(f"{path} was not written by a lab: measure again")
    home = lab_folders().get(str(measured.get("lab")))
    if home is None:
        raise Mistake(f"{path} names no lab: {measured.get('lab')!r}")
    lab: Lab = import_file(home / "program.py").LAB
    checker = import_file(home / "checker.py")
    answers = read_answers(lab, folder)[1]
    asked = measured.get("predictions")
    asked = asked if isinstance(asked, dict) else {}
    measured["predictions"] = {
        prediction.name: asked.get(prediction.name) for prediction in lab.predictions
    }
    try:
        marks = checker.mark(measured, answers)
    except Contradiction as contradiction:
        raise Mistake(f"{path} holds what no lab can measure: {contradiction}") from None
    except UNLIKE as error:
        raise Mistake(
            f"{path} is not as {lab.name} writes it "
            f"({type(error).__name__}: {error}). Measure again, and leave it as it is"
        ) from error
    return Marked(lab.name, bool(measured.get("short")), marks)


LONGEST = 2000  # letters of one reason


def show(_: argparse.Namespace) -> int:
    """List the labs."""
    for name, folder in lab_folders().items():
        print(f"{name:<16}{title(folder)}")
    return 0


def run(options: argparse.Namespace) -> int:
    """Replace this process by a lab's program, started on its ranks."""
    folder = lab_folder(options.lab)
    options.out = (options.out or Path("hand_in") / folder.name).resolve()
    program = [str(folder / "program.py"), *words_of(options)]
    if not options.begin:  # on ranks it would be followed by what their MPI says of its end
        prepare(import_file(folder / "program.py").LAB, options)
    sys.stdout.flush()
    if options.begin:
        start = [sys.executable]
    elif options.box:
        box, path = Box.find(options.box), mpiexec.mpiexec_path()
        # Nodes have a /tmp of their own: what is written there goes with the box.
        with tempfile.NamedTemporaryFile(dir=options.out) as file:
            if box.hosts.run("node0", ["test", "-e", file.name]).returncode:
                raise Mistake(
                    f"the nodes do not see {options.out}. Take another --out, or make the box "
                    f"with --share {options.out}"
                )
        family = mpiexec.mpi_family(path)
        start = [*box.mpi_words(options.ranks, str(path), family), box.python]
    else:
        start = [*mpiexec.mpi_command(options.ranks), sys.executable]
    environment = mpiexec.mpi_environment()
    if options.survivors and not options.begin:
        try:
            start[-1:-1] = mpiexec.fault_tolerance(mpiexec.mpiexec_path())
        except DiagnosedError as error:
            raise Mistake(f"{error}") from error
        environment = mpiexec.DETECTOR | environment
    os.execvpe(start[0], [*start, *program], environment)


def mark(options: argparse.Namespace) -> int:
    """Mark the folders that were handed in, and print the marks; return the exit status."""
    rows: list[list[str]] = []
    status = 0
    book = None  # where the points are to be kept beside those of notebooks
    if options.grades is not None:
        from ddl_class.grading.lab_book import LabBook  # nbgrader is seconds away

        book = LabBook(options.grades, options.folders, [*lab_folders()])
    for folder in options.folders:
        name = _harmless(str(folder))
        try:
            marked = mark_folder(folder)
        except Mistake as mistake:
            status, why = 1, _harmless(f"{mistake}")
            print(f"{name}: {why}\n", file=sys.stderr)
            rows.append([name, "", "", "", why])
            continue
        print(f"{name}: {marked.lab}{', short form' if marked.short else ''}")
        for mark in marked.marks:
            print(f"  {mark.points:>4g} of {mark.of:g}  {mark.name}")
            if mark.points < mark.of:
                print(textwrap.indent(textwrap.fill(_harmless(mark.why), 84), " " * 14))
        print(f"  {marked.points:>4g} of {marked.of:g}  in all \n")
        lost = "; ".join(f"{mark.name}: {_harmless(mark.why)}" for mark in marked.lost)
        rows.append([name, marked.lab, f"{marked.points:g}", f"{marked.of:g}", lost])
        if book:
            book.keep(folder, marked.lab, marked.short, marked.marks)
    if book:
        book.write()
    if options.csv:
        table = io.StringIO()
        csv.writer(table).writerows([["folder", "lab", "points", "of", "why"], *rows])
        write_whole(options.csv, table.getvalue())
    return status


def _harmless(text: str) -> str:
    """What stands in a hand-in is quoted, but must not steer the terminal, or fill it."""
    shown = "".join(
        letter if letter.isprintable() or letter == "\n" else "?" for letter in text[:LONGEST]
    )
    return shown + "..." * (len(text) > LONGEST)
