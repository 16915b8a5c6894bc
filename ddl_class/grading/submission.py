"""What is graded: exercises of the instructor's source, and answers in a learner's file.

An exercise has its function's name, and the cell that checks it, with hidden tests. Its other
cells, as handed out, supply what an answer needs and the learner's notebook has lost. Only the
source text of code cells is taken from a submission, and nothing of it runs here.
"""

import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nbformat import NotebookNode

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.inside.notebook import CHECKS, defines, functions_checked
from ddl_class.release import release

MOST = 4_000  # characters
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)?", re.DOTALL)


def plain(text: str, most: int = MOST) -> str:
    """The text without control characters: it cannot steer a terminal or hide parts of a line."""
    text = ESCAPES.sub("", text[: 2 * most].replace("\r\n", "\n"))
    kept = "".join(c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C")
    return kept if len(kept) <= most else kept[:most] + " ..."


@dataclass(frozen=True)
class GradedExercise:
    """One exercise of an assignment."""

    name: str  # "06.ring"
    function: str
    points: float
    answer_id: str  # of the cell, in nbgrader's books
    checking: str  # the source of the cell that checks


@dataclass(frozen=True)
class Assignment:
    """One unit's exercises, and what its notebook defines around them."""

    name: str
    exercises: tuple[GradedExercise, ...]
    handed_out: tuple[str, ...]  # the sources of its other cells


def read_assignment(source: Path) -> Assignment:
    """The assignment that this source (py:percent) hands out."""
    if not source.is_file():
        raise Mistake(
            f"There is no source {source}. It is the instructor's version of the notebook that "
            "was handed out, such as notebooks/source/06_allreduce.py"
        )
    if source.suffix != ".py":
        raise Mistake(
            f"--source {source} is not what notebooks are made from: name the py:percent file "
            f"with solutions and hidden tests, such as notebooks/source/{source.stem}.py"
        )
    parts: dict[str | None, list[NotebookNode]] = {"answer": [], "check": [], None: []}
    for cell in release.instructors(source).cells:
        if cell.cell_type == "code":
            parts[release.exercise_part(cell)].append(cell)
    answers = {cell.metadata.name: cell for cell in parts["answer"]}
    exercises = []
    for check in parts["check"]:
        name = check.metadata.name
        answer, function = answers.get(name), dict(CHECKS.findall(check.source)).get(name)
        if answer is None or function is None:
            lacking = f'no check("{name}", function) in its check'
            what = "no answer cell" if answer is None else lacking
            raise Mistake(f"{source.name}: exercise {name} has {what}")
        points, place = check.metadata.nbgrader.points, answer.metadata.nbgrader.grade_id
        exercises.append(GradedExercise(name, function, points, place, check.source))
    if not exercises:
        raise Mistake(f"{source} has no exercises: no cell is tagged as a check")
    return Assignment(source.stem, tuple(exercises), tuple(cell.source for cell in parts[None]))


LARGEST = 10 * 2**20  # bytes of a notebook; with pictures, the course's own have less than one
LONGEST_ANSWER = 100_000  # characters
MOST_AROUND = 500_000  # characters of all cells: what is longer is left out


OLD_FORMAT = (
    "this notebook has a format from before 2015: open it in JupyterLab, save it (File, Save "
    "Notebook), and hand it in again"
)


class Unreadable(Exception):
    """A submission that cannot be graded; the text tells the learner why."""


@dataclass(frozen=True)
class Submission:
    """A student and the file that was handed in; `problem` says why there is no file to read."""

    student: str
    path: Path
    problem: str = ""

    def read(self) -> bytes:
        """The bytes of a regular file; links are not followed."""
        if self.problem:
            raise Unreadable(self.problem)
        try:
            number = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise Unreadable(f"the file cannot be opened: {error.strerror}") from None
        about = os.fstat(number)
        if not stat.S_ISREG(about.st_mode):
            os.close(number)
            raise Unreadable("what was handed in is no file")
        with open(number, "rb") as file:
            if about.st_size > LARGEST:
                raise Unreadable(
                    f"the notebook has {about.st_size:,} bytes, {LARGEST:,} are allowed: clear "
                    "its outputs (Kernel, Restart Kernel and Clear Outputs) and hand it in again"
                )
            return file.read(LARGEST)


class Answers(dict[str, str]):
    """The learner's source text for each exercise that is answered, by the exercise's name.

    `cells` are all code cells of the notebook, each with the exercise that it answers, or "".
    `functions` are those that the learner has called otherwise than the exercise does.
    """

    def __init__(
        self,
        answers: Iterable[tuple[str, str]] | Mapping[str, str],
        cells: Sequence[tuple[str, str]] = (),
        functions: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(answers)
        self.functions = dict(functions)
        self.cells = tuple(cells) or tuple(self.items())

    def around(self, exercise: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The other cells, those above the answer and those below, each with its name."""
        own = [place for place, (name, _) in enumerate(self.cells) if name == exercise]
        above: list[tuple[str, str]] = []
        below: list[tuple[str, str]] = []
        for place, (name, source) in enumerate(self.cells):
            if name != exercise:
                title = f"the answer to {name}" if name else f"code cell {place + 1}"
                (above if own and place < own[-1] else below).append((title, source))
        return above, below


def read_answers(raw: bytes, assignment: Assignment) -> Answers:
    """What a notebook answers, and all its cells."""
    try:
        notebook = json.loads(raw)
        if "worksheets" in notebook:
            raise Unreadable(OLD_FORMAT)
        cells = list(_code_cells(notebook))
    except (ValueError, RecursionError, AttributeError, TypeError, LookupError):
        raise Unreadable(
            "this is not a notebook: save it in JupyterLab (File, Save Notebook) and hand in the "
            "file that ends in .ipynb"
        ) from None
    owners = [""] * len(cells)
    answers = {}
    sources = [cell.source for cell in cells]
    functions = functions_checked(sources)
    for exercise in assignment.exercises:
        function = functions.get(exercise.name, exercise.function)
        if places := _answers(cells, exercise, function):
            answer = "\n\n".join(sources[place] for place in places)
            if len(answer) > LONGEST_ANSWER:
                raise Unreadable(f"the answer to {exercise.name} has {len(answer):,} characters")
            answers[exercise.name] = answer
            for place in places:
                owners[place] = exercise.name
    all_of_it = sum(map(len, sources)) <= MOST_AROUND
    around = list(zip(owners, sources, strict=True)) if all_of_it else ()
    return Answers(answers, around, functions)


@dataclass(frozen=True)
class CodeCell:
    """A code cell of a notebook."""

    names: set[str]  # all that it goes by
    source: str
    run: int  # a number that grows with each run of a cell; 0 where it is not known


def _code_cells(notebook: Any) -> Iterator[CodeCell]:
    for cell in notebook["cells"]:
        source = cell.get("source", "")
        source = "".join(source) if isinstance(source, list) else source
        if cell.get("cell_type") == "code" and isinstance(source, str):
            about = cell.get("metadata", {})
            names = (cell.get("id"), about.get("nbgrader", {}).get("grade_id"))
            # A text may hold halves of characters, which no file can.
            text = source.encode("utf-8", "replace").decode()
            number = cell.get("execution_count")
            run = number if isinstance(number, int) else 0
            yield CodeCell({name for name in names if isinstance(name, str)}, text, run)


def _answers(cells: Sequence[CodeCell], exercise: GradedExercise, function: str) -> list[int]:
    """The places of the cells that answer this exercise: its own cell, and those that define the
    function and stand above its last check, or were run before it."""
    check, places = len(cells), []
    for place, cell in enumerate(cells):
        if exercise.name in dict(CHECKS.findall(cell.source)):
            check = place
        if exercise.answer_id in cell.names or defines(cell.source, function):
            places.append(place)
    earlier = range(1, cells[check].run if check < len(cells) else 1)
    before = [at for at in places if at <= check or cells[at].run in earlier]
    if all(cells[at].run in earlier for at in before):
        before.sort(key=lambda at: cells[at].run)  # the kernel has what was run last
    return before or places
