"""What a hint says can be typed into its notebook."""

import ast
import importlib
import re
from functools import cache
from types import ModuleType

import exercise_sources as sources
import pytest

from ddl_class.exercises.registry import units

EXERCISES = [exercise for unit in units() for exercise in unit.exercises]


@cache
def modules_of(unit):
    """The names that stand for modules in a unit's notebook."""
    found = set()
    for cell in sources.instructors(sources.source_of(unit)).cells:
        try:
            tree = ast.parse(cell.source) if cell.cell_type == "code" else ast.Module([], [])
        except SyntaxError:  # a cell for all engines
            continue
        for statement in ast.walk(tree):
            if isinstance(statement, ast.Import):
                found |= {it.asname or it.name.partition(".")[0] for it in statement.names}
            elif isinstance(statement, ast.ImportFrom):
                for it in statement.names:
                    if isinstance(imported(statement.module, it.name), ModuleType):
                        found.add(it.asname or it.name)
    return found


def imported(module, name):
    """What `from module import name` gives."""
    if not hasattr(importlib.import_module(module), name):
        importlib.import_module(f"{module}.{name}")
    return getattr(importlib.import_module(module), name)


def called(text):
    """The names that are called in a text with pieces of code in it, without methods."""
    return set(re.findall(r"(?<![\w.])([A-Za-z_]\w*)\(", text))


def test_modules_and_calls_are_found():
    assert {"np", "rabenseifner", "ring"} <= modules_of("06")
    assert "simulate" not in modules_of("06")
    assert called("comm.send(x, 0); ring(x), and np.sum(f(1))") == {"ring", "f"}


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_no_hint_calls_a_module(exercise):
    for hint in exercise.hints:
        assert not called(hint) & modules_of(exercise.unit)
