"""What is graded: exercises of the instructor's source, and answers in a file of a stranger.

To each exercise belong the function's name and the cell that checks it, with the hidden tests that
only the grader sees. The other cells, as they were handed out, give an answer what it needs and
the learner's notebook has lost. Of a submission nothing is taken but the source text of its code
cells: what checks, and for how many points, stands in the instructor's source. IPython's own rules
say what `f?`, `%magic` and `!shell` mean in a cell. Nothing of it is run here.
"""

import ast
import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import (
    TransformerManager,
    classic_prompt,
    ipython_prompt,
    leading_indent,
)
from nbformat import NotebookNode

from ddl_class.commands.mistake import Mistake
from ddl_class.release import release

MOST = 4_000  # characters
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)?", re.DOTALL)
# A line that may be a command. IPython then looks whether it is one, from the cell's beginning.
COMMAND = re.compile(r"^[ \t]*[%!?,;/]|\?[ \t]*$|=[ \t]*[%!]", re.MULTILINE)
MOST_LOOKING = 100_000  # characters that are looked at for all commands of a cell


def plain(text: str, most: int = MOST) -> str:
    """The text without whatever could move a cursor, colour a terminal, or turn a line round."""
    text = ESCAPES.sub("", text[: 2 * most].replace("\r\n", "\n"))
    kept = "".join(c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C")
    return kept if len(kept) <= most else kept[:most] + " ..."


@lru_cache(maxsize=512)
def as_python(source: str) -> str:
    """The cell without magics, in as many lines; as it is where IPython cannot read it either."""
    lines = [f"{line}\n" for line in source.split("\n")]
    first = next((place for place, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        lines[first] = "\n"
    for clean in (leading_indent, classic_prompt, ipython_prompt):
        lines = clean(lines)
    commands = len(COMMAND.findall("".join(lines)))
    manager = TransformerManager()
    try:
        for _ in range(min(commands, MOST_LOOKING // max(len(source), 1))):
            before, (_, lines) = lines, manager.do_one_token_transform(lines)
            # Empty lines follow where a command of several lines became one.
            pairs = zip(before, lines, strict=False)
            place = next((at for at, (old, new) in enumerate(pairs) if old != new), len(lines))
            lines[place + 1 : place + 1] = ["\n"] * (len(before) - len(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    return "".join(lines).removesuffix("\n")


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
    exercises = tuple(
        _exercise(source, cell, answers.get(cell.metadata.name)) for cell in parts["check"]
    )
    if not exercises:
        raise Mistake(f"{source} has no exercises: no cell is tagged as a check")
    return Assignment(source.stem, exercises, tuple(cell.source for cell in parts[None]))


def _exercise(source: Path, check: NotebookNode, answer: NotebookNode | None) -> GradedExercise:
    name, function = check.metadata.name, None
    for node in ast.walk(ast.parse(check.source)):
        match node:  # `check("06.ring", ring_allreduce)` is about this function
            case ast.Call(
                func=ast.Name(id="check" | "judge"),
                args=[ast.Constant(value=said), ast.Name(id=checked), *_],
            ) if said == name:
                function = function or checked
    if answer is None or function is None:
        what = "no answer cell" if answer is None else f'no check("{name}", function) in its check'
        raise Mistake(f"{source.name}: exercise {name} has {what}")
    points, place = check.metadata.nbgrader.points, answer.metadata.nbgrader.grade_id
    return GradedExercise(name, function, points, place, check.source)


LARGEST = 10 * 2**20  # bytes of a notebook; with pictures, the course's own have less than one
LONGEST_ANSWER = 100_000  # characters
MOST_AROUND = 500_000  # characters of all cells: what is longer is left out
STUDENT = re.compile(r"[\w@+-][\w.@+-]{0,99}")


class Unreadable(Exception):
    """Why a submission cannot be graded, for the learner."""


@dataclass(frozen=True)
class Submission:
    """Who handed in which file; `problem` says why there is none to read."""

    student: str
    path: Path
    problem: str = ""

    def read(self) -> bytes:
        """The file's bytes: of a regular file only, and never through a link."""
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


def find_submissions(folder: Path, assignment: str) -> list[Submission]:
    """All that was handed in for this assignment, one for each student, by name.

    The folder is nbgrader's (submitted/STUDENT/ASSIGNMENT/NOTEBOOK.ipynb), or holds STUDENT.ipynb.
    """
    if not folder.is_dir():
        raise Mistake(f"There is no folder {folder} with submissions")
    if (folder / "submitted").is_dir():
        folder = folder / "submitted"
    submissions = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.suffix == ".ipynb":
            submissions.append(_one(entry.stem, entry, entry))
        elif entry.is_dir() and (submission := _in_folder(entry, assignment)):
            submissions.append(submission)
    if not submissions:
        raise Mistake(
            f"No submissions for {assignment} in {folder}. It should hold either\n"
            f"  STUDENT/{assignment}/{assignment}.ipynb   as nbgrader collects them, or\n"
            "  STUDENT.ipynb   one notebook a student."
        )
    names = [submission.student for submission in submissions]
    problems = [f"{name!r} is no name" for name in names if not STUDENT.fullmatch(name)]
    problems += [f"{name!r} handed in twice" for name in names if names.count(name) > 1]
    if problems:
        raise Mistake(
            f"{folder}: {problems[0]}. A student's name has letters, digits and any of . _ @ + - "
            "in it, and stands for one submission: rename or remove what is too much"
        )
    return submissions


def _in_folder(student: Path, assignment: str) -> Submission | None:
    """What a student's folder holds for the assignment."""
    inner = student / assignment
    nested = os.path.lexists(inner)
    place = inner if nested else student
    if place.is_symlink() or student.is_symlink() or not place.is_dir():
        return _one(student.name, place, student)
    notebooks = sorted(path for path in place.iterdir() if path.suffix == ".ipynb")
    named = [path for path in notebooks if path.stem == assignment]
    if not notebooks and not nested:
        return None  # handed in something else, or nothing
    if len(named or notebooks) == 1:
        return _one(student.name, (named or notebooks)[0], student)
    what = f"there are {len(notebooks)} notebooks and none is called {assignment}.ipynb"
    return Submission(student.name, place, f"{what}: one is wanted, by this name")


def _one(student: str, path: Path, first: Path) -> Submission:
    linked = path.is_symlink() or first.is_symlink()
    problem = "what was handed in is a symbolic link: hand in the file itself" if linked else ""
    return Submission(student, path, problem)


class Answers(dict[str, str]):
    """The learner's source text for each exercise that is answered, by the exercise's name.

    `cells` are all code cells of the notebook, each with the exercise that it answers, or "".
    """

    def __init__(
        self,
        answers: Iterable[tuple[str, str]] | Mapping[str, str],
        cells: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(answers)
        self.cells = tuple(cells) or tuple(self.items())

    def around(self, exercise: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The other cells, those above the answer's and those below, each with its name."""
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
        cells = list(_code_cells(json.loads(raw)))
    except (ValueError, RecursionError, AttributeError, TypeError):
        raise Unreadable(
            "this is not a notebook: save it in JupyterLab (File, Save Notebook) and hand in the "
            "file that ends in .ipynb"
        ) from None
    owners = [""] * len(cells)
    answers = {}
    sources = [source for _, source in cells]
    for exercise in assignment.exercises:
        if places := _answers(cells, exercise):
            answer = "\n\n".join(sources[place] for place in places)
            if len(answer) > LONGEST_ANSWER:
                raise Unreadable(f"the answer to {exercise.name} has {len(answer):,} characters")
            answers[exercise.name] = answer
            for place in places:
                owners[place] = exercise.name
    all_of_it = sum(map(len, sources)) <= MOST_AROUND
    return Answers(answers, list(zip(owners, sources, strict=True)) if all_of_it else ())


def _code_cells(notebook: Any) -> Iterator[tuple[set[str], str]]:
    """All names that each code cell goes by, and its source."""
    for cell in notebook["cells"]:
        source = cell.get("source", "")
        source = "".join(source) if isinstance(source, list) else source
        if cell.get("cell_type") == "code" and isinstance(source, str):
            about = cell.get("metadata", {})
            names = (cell.get("id"), about.get("nbgrader", {}).get("grade_id"))
            # A text may hold halves of characters, which no file can.
            text = source.encode("utf-8", "replace").decode()
            yield {name for name in names if isinstance(name, str)}, text


def _answers(cells: Sequence[tuple[set[str], str]], exercise: GradedExercise) -> list[int]:
    """The places of those cells that, run from above, answer this exercise."""
    own = [place for place, (names, _) in enumerate(cells) if exercise.answer_id in names]
    if own:
        return own
    # Some programs lose what a notebook says about its cells.
    definition = re.compile(rf"^def {exercise.function}\b", re.MULTILINE)
    return [place for place, (_, source) in enumerate(cells) if definition.search(source)]
