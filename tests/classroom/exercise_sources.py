"""The exercises as the notebooks' sources have them: stubs, solutions, and what checks them.

Of a source only what a function may need is executed: imports, definitions, constants. So the
tests of exercises take seconds, whatever else the notebook simulates, measures and draws.
"""

import ast
from functools import cache
from pathlib import Path

from ddl_class.release import release

SOURCES = Path(__file__).resolve().parents[2] / "notebooks" / "source"


instructors = cache(release.instructors)  # nobody changes what it returns


@cache
def sources_of(unit):
    """The notebook sources of a unit that have exercises: its own, and those beside it."""
    return [path for path in sorted(SOURCES.glob(f"{unit}_*.py")) if named_cells(path)]


@cache
def source_of(name):
    """The notebook source of an exercise or a prediction such as "06.ring"; of a unit, its own."""
    unit, _, inside = name.partition(".")
    named = f'"{name}"' if inside else ""
    return next(path for path in sources_of(unit) if named in path.read_text())


def sources_with_exercises():
    return [path for path in sorted(SOURCES.glob("*.py")) if named_cells(path)]


@cache
def named_cells(path):
    """The cells of exercises, as `(name, kind, code)`, in the instructor's version."""
    return _parts(instructors(path))


@cache
def stubs(path):
    """What the learner finds in the cells of exercises."""
    return _parts(release.learners(path))


def _parts(notebook):
    return [
        (cell.metadata.name, kind, cell.source)
        for cell in notebook.cells
        if (kind := release.exercise_part(cell))
    ]


def code_of(cells, name, kind):
    (code,) = [code for cell, its_kind, code in cells if (cell, its_kind) == (name, kind)]
    return code


def checked_function(path, name):
    """The name of the function that the check cell hands to `check`."""
    for node in ast.walk(ast.parse(code_of(named_cells(path), name, "check"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check":
            assert ast.literal_eval(node.args[0]) == name
            return node.args[1].id
    raise AssertionError(f"{name}: its check cell does not call check")


def names_after(path, replaced=None, code=""):
    """Everything a notebook has defined at its end; the answer `replaced` has other code."""
    names = {"__name__": "notebook"}
    for cell in instructors(path).cells:
        if cell.cell_type != "code":
            continue
        kind = release.exercise_part(cell)
        text = code if (cell.metadata.get("name"), kind) == (replaced, "answer") else cell.source
        try:
            tree = ast.parse(text)
        except SyntaxError:  # a cell for all engines
            continue
        if kind == "check":
            continue
        if kind != "answer":
            tree.body = [statement for statement in tree.body if _defines(statement)]
        exec(compile(tree, f"<{cell.metadata.get('name', 'cell')}>", "exec"), names)
    return names


def _defines(statement):
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        try:
            ast.literal_eval(statement.value)
        except (ValueError, TypeError):
            return False
        return True
    return isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)


def function(path, name, code=None):
    """The function of an exercise: the solution, or what `code` makes of its cell."""
    names = names_after(path) if code is None else names_after(path, name, code)
    return names[checked_function(path, name)]
