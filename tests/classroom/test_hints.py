"""What a hint says can be typed into its notebook."""

import ast
import importlib
import inspect
import math
import re
from contextlib import suppress
from functools import cache
from operator import attrgetter
from types import ModuleType

import exercise_sources as sources
import numpy as np
import pytest

from ddl_class.exercises.check import verdict
from ddl_class.exercises.registry import find_exercise, units
from ddl_class.exercises.stages import SimulatedStage
from ddl_teach import Comm

EXERCISES = [exercise for unit in units() for exercise in unit.exercises]


@cache
def modules_of(name):
    """The names that stand for modules in the notebook of an exercise, or of a unit."""
    found = set()
    for cell in sources.instructors(sources.source_of(name)).cells:
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
        assert not called(hint) & modules_of(exercise.name)


def code(hint):
    """Its indented lines."""
    return "\n".join(line for line in hint.split("\n") if line.startswith("    ") or not line)


# A line of dots is left to the learner: such lines are no whole answer.
WITH_CODE = {
    e.name: code(hint)
    for e in EXERCISES for hint in e.hints if code(hint) and "...  #" not in hint
}  # fmt: skip


def test_a_hint_keeps_its_lines_of_code():
    first, *more = find_exercise("13.rate").hints[2].split("\n")
    assert first.endswith(":")
    assert more[1:3] == ["    if step > warm_up:", "        return peak"]
    assert {"08.overlap", "13.rate", "16.one_bit"} <= WITH_CODE.keys()


def test_where_there_are_three_hints_the_third_alone_shows_lines():
    three = [exercise.hints for exercise in EXERCISES if len(exercise.hints) == 3]
    assert len(three) > 200
    assert [[bool(code(hint)) for hint in hints] for hints in three] == [[0, 0, 1]] * len(three)


# An indented line, a call or a place with something in its brackets, an assignment, an operator.
PIECE = re.compile(r"^ {4}|\w[(\[][^)\]]|(?<![<>!=])=|\*\*|//|%|&| @ ", re.MULTILINE)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_the_second_hint_leads_and_shows_no_code(exercise):
    assert PIECE.findall(exercise.hints[1]) == []


@pytest.mark.parametrize(
    ("hint", "pieces"),
    [
        ("Take n, then send(x): x += 1", 2),
        ("which of rows[0] and a // b?", 2),
        ("call comm.sendrecv, or average(): is `own` at least 3?", 0),
    ],
)
def test_pieces_of_code_are_counted(hint, pieces):
    assert len(PIECE.findall(hint)) == pieces


def test_the_last_hint_of_a_hard_exercise_shows_lines():
    hard = [e for e in EXERCISES if e.points >= 3 and math.isnan(e.best_known) and not e.order]
    assert len(hard) > 40
    assert [exercise.name for exercise in hard if not code(exercise.hints[-1])] == []


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", WITH_CODE)
def test_a_hints_code_put_into_the_stub_is_a_right_answer(name):
    exercise, path = find_exercise(name), sources.source_of(name)
    stub = sources.code_of(sources.stubs(path), name, "answer")
    answer = stub.replace("    raise NotImplementedError", WITH_CODE[name])
    assert answer != stub
    stage = SimulatedStage(sources.function(path, name, answer), seconds=300.0)
    counts = [count for count in exercise.ranks if count <= 4]
    assert verdict(exercise, stage, np.random.default_rng(1), counts) is None


def calls(hint):
    """The calls of the communicator's verbs and of NumPy in a hint, as (name, call) pairs."""
    for start in re.finditer(r"\b(comm|np)\.[\w.]+\(", hint):
        for end in re.finditer(r"\)", hint[start.start() :]):
            with suppress(SyntaxError):
                call = ast.parse(hint[start.start() :][: end.end()], mode="eval").body
                yield start.group()[:-1], call
                break


def misfit(name, call):
    """Why something of this name cannot be called so; None if it can."""
    try:
        called = attrgetter(name.partition(".")[2])(np if name.startswith("np") else Comm)
        if not name.startswith("np"):  # some of NumPy's have no signature
            keywords = {each.arg: None for each in call.keywords}
            inspect.signature(called).bind(None, *call.args, **keywords)
    except (AttributeError, TypeError) as error:
        return f"{ast.unparse(call)}: {error}"
    return None


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_what_a_hint_calls_is_there_and_is_called_so(exercise):
    problems = [misfit(*call) for hint in exercise.hints for call in calls(hint)]
    assert not any(problems), problems


@pytest.mark.parametrize(
    ("hint", "fits"),
    [
        ("Call comm.send(x, to=1), and", True),
        ("comm.send(x)", False),
        ("comm.sent(x, 1)", False),
        ("np.fft.rfft2(f(x), size)", True),
        ("np.append_all(x)", False),
    ],
)
def test_what_fits(hint, fits):
    ((name, call),) = calls(hint)
    assert (misfit(name, call) is None) == fits


# In one line all that follows the colon belongs to the body, or is no Python.
TRAP = re.compile(r"\b(for|while|if|def) .*?: .*; ?(then )?(return|for|while|if|def)\b")


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_no_hint_has_a_line_that_means_something_else_when_it_is_typed(exercise):
    for hint in exercise.hints:
        prose = hint.replace(code(hint), "")
        assert not [part for part in re.split(r"[.?]\s+(?=[A-Z])", prose) if TRAP.search(part)]


@pytest.mark.parametrize(
    ("hint", "trap"),
    [
        ("for g in all: g *= 2; return norm", True),
        ("if late: return 1; return 2", True),
        ("while b: take(b); b -= 1", False),
        ("x = 1; for b in c: take(b). Then for d in e: take(d)", False),
    ],
)
def test_what_is_a_trap(hint, trap):
    assert bool(TRAP.search(hint)) == trap
