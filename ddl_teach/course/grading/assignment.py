"""What is to be graded, read from the instructor's source: never from a submission.

To each exercise belong the function's name, the cell that checks it (with the hidden tests, which
only the grader sees), and what runs before the answer: cells tagged "setup", what the answer cell
names under `needs`, and those imports of the instructor's notebook that an answer makes use of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from ddl_teach.course import release
from ddl_teach.course.mistake import Mistake


@dataclass(frozen=True)
class GradedExercise:
    """One exercise of an assignment."""

    name: str  # "06.ring"
    function: str
    points: float
    answer_id: str  # of the cells, in nbgrader's books
    check_id: str
    checking: str  # the source of the cell that checks
    needs: tuple[str, ...]  # other exercises whose answers are run first


@dataclass(frozen=True)
class Assignment:
    """One unit's exercises, and what runs before any answer."""

    name: str
    exercises: tuple[GradedExercise, ...]
    set_up: tuple[str, ...]
    imports: tuple[str, ...]  # one statement each

    def before(self, answer: str) -> str:
        """What runs before these lines of a submission."""
        used = [line for line in self.imports if _names(line) & set(re.findall(r"\w+", answer))]
        return "\n".join([*used, *self.set_up])


def read_assignment(source: Path) -> Assignment:
    """The assignment that this source (py:percent) hands out."""
    if not source.is_file():
        raise Mistake(
            f"There is no source {source}. It is the instructor's version of the notebook that "
            "was handed out, such as notebooks/source/06_allreduce.py"
        )
    cells = [cell for cell in release.instructors(source).cells if cell.cell_type == "code"]
    parts = {"answer": {}, "check": {}}
    for cell in cells:
        kind = release.exercise_part(cell)
        if kind:
            parts[kind][cell.metadata.name] = cell
    exercises = tuple(
        _exercise(source, name, cell, parts["answer"].get(name))
        for name, cell in parts["check"].items()
    )
    if not exercises:
        raise Mistake(f"{source} has no exercises: no cell is tagged as a check")
    rest = [cell for cell in cells if not release.exercise_part(cell)]
    set_up = [cell.source for cell in rest if "setup" in cell.metadata.get("tags", ())]
    imports = dict.fromkeys(line for cell in rest for line in _imports(cell.source))
    return Assignment(source.stem, exercises, tuple(set_up), tuple(imports))


def _exercise(
    source: Path, name: str, check: NotebookNode, answer: NotebookNode | None
) -> GradedExercise:
    function = _checked_function(check.source, name)
    if answer is None or function is None:
        what = "no answer cell" if answer is None else f'no check("{name}", function) in its check'
        raise Mistake(f"{source.name}: exercise {name} has {what}")
    return GradedExercise(
        name,
        function,
        check.metadata.nbgrader.points,
        answer.metadata.nbgrader.grade_id,
        check.metadata.nbgrader.grade_id,
        check.source,
        tuple(answer.metadata.get("needs", ())),
    )


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


def _imports(source: str) -> Iterator[str]:
    """The import statements of a cell that a sandbox can carry out."""
    lines = [line for line in source.split("\n") if not line.startswith(("%", "!"))]
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not _knows_solutions(node):
            yield ast.unparse(node)


def _knows_solutions(node: ast.Import | ast.ImportFrom) -> bool:
    modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else _modules(node.names)
    return any(module.startswith("ddl_teach.collectives") for module in modules)


def _modules(names: Iterable[ast.alias]) -> list[str]:
    return [alias.name for alias in names]


def _names(statement: str) -> set[str]:
    """The names that an import statement makes known."""
    aliases = ast.parse(statement).body[0].names
    return {(alias.asname or alias.name).split(".")[0] for alias in aliases}
