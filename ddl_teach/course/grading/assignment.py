"""What is to be graded, read from the instructor's source: never from a submission.

To each exercise belong the function's name and the cell that checks it, with the hidden tests
that only the grader sees. Before an answer runs what it makes use of: imports, functions and
constants of the instructor's notebook, and the learner's own answers to other exercises. Where an
answer lets the library stand in for another exercise, `ring.reduce_scatter` for the learner's
`ring_reduce_scatter`, the instructor's solution is lent to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from ddl_teach.course import release
from ddl_teach.course.grading.sandbox import SHOWN_OF_PACKAGE
from ddl_teach.course.mistake import Mistake

SLOW = ("torch",)


@dataclass(frozen=True)
class GradedExercise:
    """One exercise of an assignment."""

    name: str  # "06.ring"
    function: str
    points: float
    answer_id: str  # of the cell, in nbgrader's books
    checking: str  # the source of the cell that checks
    solution: str  # the source of the instructor's answer

    @property
    def stand_in(self) -> set[str]:
        """What the library's function of the same purpose can be called."""
        pieces = self.function.split("_")
        return {
            f"{'_'.join(pieces[:cut])}.{'_'.join(pieces[cut:])}" for cut in range(1, len(pieces))
        }

    @property
    def lending(self) -> str:
        """Source text by which the solution has the names of the library's function."""
        lines = [self.solution, "from types import SimpleNamespace"]
        for module, function in (name.split(".") for name in sorted(self.stand_in)):
            lines.append(f"{module} = SimpleNamespace({function}={self.function})")
        return "\n".join(lines)


@dataclass(frozen=True)
class Definition:
    """A statement of the instructor's notebook that makes names known."""

    names: frozenset[str]
    statement: str


@dataclass(frozen=True)
class Assignment:
    """One unit's exercises, and what its notebook defines around them."""

    name: str
    exercises: tuple[GradedExercise, ...]
    definitions: tuple[Definition, ...]

    @property
    def slow_imports(self) -> tuple[str, ...]:
        """What takes seconds to import, and is better imported once for all sandboxes."""
        names = set().union(*(one.names for one in self.definitions))
        return tuple(name for name in SLOW if name in names)

    def cells(self, exercise: GradedExercise, answers: Mapping[str, str]) -> list[tuple[str, str]]:
        """What a sandbox runs for one exercise: pairs of a name and source text."""
        theirs = [exercise]
        for one in theirs:  # grows meanwhile: what is called may call something else
            words = _words(answers[one.name])
            called = [other for other in self.exercises if other.function in words]
            theirs += [other for other in called if other.name in answers and other not in theirs]
        texts = [answers[one.name] for one in theirs]
        library = {name for text in texts for name in re.findall(r"\w+\.\w+", text)}
        lent = [one for one in self.exercises if one != exercise and one.stand_in & library]
        texts += [one.lending for one in lent]
        used: list[Definition] = []
        for text in texts:  # grows as well
            more = [one for one in self.definitions if one.names & _words(text)]
            used += [one for one in more if one not in used]
            texts += [one.statement for one in used if one.statement not in texts]
        in_order = [one for one in self.exercises if one in theirs]
        before = [one.statement for one in self.definitions if one in used]
        return [
            ("the instructor's cells", "\n".join([*before, *(one.lending for one in lent)])),
            *((f"the answer to {one.name}", answers[one.name]) for one in in_order),
        ]


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
    rest = [cell.source for cell in cells if not release.exercise_part(cell)]
    definitions = dict.fromkeys(one for text in rest for one in _definitions(text))
    return Assignment(source.stem, exercises, tuple(definitions))


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
        check.source,
        answer.source,
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


def _definitions(source: str) -> Iterator[Definition]:
    """The statements of a cell that can run anywhere and make names known."""
    try:
        statements = ast.parse(source).body
    except SyntaxError:  # a cell that speaks to the notebook: for all engines, for the shell
        return
    for node in statements:
        match node:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                if not _is_hidden(node):
                    names = {(alias.asname or alias.name).split(".")[0] for alias in aliases}
                    yield Definition(frozenset(names), ast.unparse(node))
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield Definition(frozenset([name]), ast.unparse(node))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_plain(value):
                yield Definition(frozenset([name]), ast.unparse(node))


def _is_hidden(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether it imports a room of the package that a sandbox does not show."""
    whole = isinstance(node, ast.Import)
    modules = [alias.name for alias in node.names] if whole else [node.module or ""]
    rooms = [name.split(".")[1] for name in modules if name.startswith("ddl_teach.")]
    return any(room not in SHOWN_OF_PACKAGE for room in rooms)


def _is_plain(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError):
        return False
    return True


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))
