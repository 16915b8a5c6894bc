"""What is to be graded, read from the instructor's source: never from a submission.

To each exercise belong the function's name and the cell that checks it, with the hidden tests
that only the grader sees. The other cells, as they were handed out, give an answer what it needs
and the learner's notebook has lost.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from ddl_class.commands.mistake import Mistake
from ddl_class.release import release


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
    name = check.metadata.name
    function = _checked_function(check.source, name)
    if answer is None or function is None:
        what = "no answer cell" if answer is None else f'no check("{name}", function) in its check'
        raise Mistake(f"{source.name}: exercise {name} has {what}")
    points, place = check.metadata.nbgrader.points, answer.metadata.nbgrader.grade_id
    return GradedExercise(name, function, points, place, check.source)


def _checked_function(checking: str, name: str) -> str | None:
    """Which function `check("06.ring", ring_allreduce)` is about."""
    for node in ast.walk(ast.parse(checking)):
        match node:
            case ast.Call(
                func=ast.Name(id="check" | "judge"),
                args=[ast.Constant(value=said), ast.Name(id=function), *_],
            ) if said == name:
                return function
    return None
