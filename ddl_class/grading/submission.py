"""Reading what was handed in: a file from a stranger, of which only source text is taken.

Nothing of a submission is taken but the source text of its code cells. Which cells check, what
they check and how many points they give stands in the instructor's source; whatever a submission
says about that is not even looked at.
"""

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.assignment import Assignment, GradedExercise

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
    found = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.suffix == ".ipynb":
            found.append(_one(entry.stem, entry, entry))
        elif entry.is_dir() and (one := _in_folder(entry, assignment)):
            found.append(one)
    if not found:
        raise Mistake(
            f"No submissions for {assignment} in {folder}. It should hold either\n"
            f"  STUDENT/{assignment}/{assignment}.ipynb   as nbgrader collects them, or\n"
            "  STUDENT.ipynb   one notebook a student."
        )
    names = [one.student for one in found]
    problems = [f"{name!r} is no name" for name in names if not STUDENT.fullmatch(name)]
    problems += [f"{name!r} handed in twice" for name in names if names.count(name) > 1]
    if problems:
        raise Mistake(
            f"{folder}: {problems[0]}. A student's name has letters, digits and any of . _ @ + - "
            "in it, and stands for one submission: rename or remove what is too much"
        )
    return found


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
