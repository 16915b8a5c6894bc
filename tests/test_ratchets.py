"""Walls that are being built: each number may only fall, and what is new begins at zero."""

import ast
import statistics
import sys

import pytest

from tests import house, looped_cases, reading_cost

MOST = {
    "circles of files": 0,
    "reads of another object's privates": 19,
    "classes cut over two files": 5,
    "names of several classes": 0,
    "variables that say nothing": 0,
    "tests that loop over their cases": 80,
}
FOUND = {
    "circles of files": house.circles,
    "reads of another object's privates": house.foreign_privates,
    "classes cut over two files": house.sliced_classes,
    "names of several classes": house.shared_names,
    "variables that say nothing": house.mute_variables,
    "tests that loop over their cases": looped_cases.loops_over_cases,
}
# Errors that a strict type checker may find in each room; a room that is not here has none.
MOST_TYPE_ERRORS = {
    "ddl_class.clusters": 28,
    "ddl_class.commands": 11,
    "ddl_class.competition": 28,
    "ddl_class.doctor": 1,
    "ddl_class.engines": 75,
    "ddl_class.exercises": 16,
    "ddl_class.grading": 32,
    "ddl_class.labs": 9,
    "ddl_class.notebook": 29,
    "ddl_class.release": 4,
    "ddl_measure": 16,
    "ddl_measure.analysis": 12,
    "ddl_measure.experiments": 26,
    "ddl_measure.levels": 14,
    "ddl_measure.recipes": 10,
    "ddl_measure.reports": 53,
    "ddl_measure.zoo": 5,
    "ddl_runtime.devices": 40,
    "ddl_runtime.launcher": 34,
    "ddl_runtime.mpi": 5,
    "ddl_runtime.simulator": 35,
    "ddl_teach.fault_tolerance": 2,
    "ddl_teach.networks": 104,
    "ddl_teach.operators": 51,
}
# What stands behind the algorithms of `plain`: python -m tests.reading_cost prints the table.
MOST_READING = {
    "files of the median": 4,
    "lines of the median": 317,
    "files of the largest": 10,
    "lines of the largest": 673,
    "products over 10 files or 700 lines": 0,
}
LOWER = "fewer than before: lower the number in tests/test_ratchets.py, so that it stays so"
from_the_lock = pytest.mark.skipif(
    not sys.prefix.startswith(str(house.ROOT)),
    reason="the numbers are those of the locked versions",
)


@pytest.mark.parametrize("what", MOST)
def test_the_house_gets_no_worse(what):
    places = FOUND[what]()
    assert len(places) <= MOST[what], f"more {what}; python -m tests.house names them"
    assert len(places) == MOST[what], LOWER


@pytest.mark.long
@from_the_lock
def test_types_get_no_worse():
    found = house.type_errors()
    more = {room: found[room] for room in found if found[room] > MOST_TYPE_ERRORS.get(room, 0)}
    assert more == {}, "run: python -m mypy --strict --ignore-missing-imports PACKAGE"
    assert dict(found) == MOST_TYPE_ERRORS, LOWER


def test_reading_an_algorithm_gets_no_longer():
    costs = list(reading_cost.costs())
    files, lines = [cost.files for cost in costs], [cost.lines for cost in costs]
    found = {
        "files of the median": statistics.median(files),
        "lines of the median": statistics.median(lines),
        "files of the largest": max(files),
        "lines of the largest": max(lines),
        "products over 10 files or 700 lines": sum(
            cost.files > 10 or cost.lines > 700 for cost in costs
        ),
    }
    assert {what: found[what] for what in found if found[what] > MOST_READING[what]} == {}
    assert found == MOST_READING, LOWER


SLICED = {
    "Upper": "class Upper:\n    def __init__(self):\n        self._x = 1\n",
    "Abstract": "from typing import Protocol\nclass Upper(Protocol):\n    pass\n",
}


@pytest.fixture
def two_files(monkeypatch, tmp_path):
    """A house of two files, the second of which reads the first."""

    def build(first, second):
        made = {}
        for name, text in {"one": first, "two": second}.items():
            path = tmp_path / f"{name}.py"
            path.write_text(text)
            made[f"ddl_teach.{name}"] = house.Module(f"ddl_teach.{name}", path)
        monkeypatch.setattr(house, "modules", lambda: made)
        monkeypatch.setattr(house, "ROOT", tmp_path)

    return build


def test_a_circle_is_noticed_also_one_for_types_only(two_files):
    only_types = "if TYPE_CHECKING:\n    from ddl_teach.two import b\n"
    two_files(only_types, "from ddl_teach import one\n")
    assert house.circles() == [["ddl_teach.one", "ddl_teach.two"]]


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("comm._records", 1),
        ("self._comm._records", 1),
        ("self._comm", 0),
        ("super()._f()", 0),
        ("row._replace(x=1)", 1),
        ("os._exit(0)", 1),
        ("other._own", 1),
    ],
)
def test_reads_of_foreign_privates_are_noticed(two_files, line, count):
    body = (
        f"import os\nclass A:\n    _own = 1\n    def f(self, comm, row, other):\n        {line}\n"
    )
    ast.parse(body)
    two_files("", body)
    assert len(house.foreign_privates()) == count


@pytest.mark.parametrize(("upper", "count"), [("Upper", 1), ("Abstract", 0)])
def test_a_class_cut_over_two_files_is_noticed(two_files, upper, count):
    two_files(SLICED[upper], "from ddl_teach.one import Upper\nclass Lower(Upper):\n    pass\n")
    assert len(house.sliced_classes()) == count


CASES = "LINES = [1, 2]\n"
LOOPS = {
    "over a literal": ("def test_a():\n    for x in (1, 2):\n        assert x\n", True),
    "over a constant": ("def test_a(real):\n    for x in LINES:\n        assert real(x)\n", True),
    "over a range": ("def test_a():\n    for x in range(3):\n        assert x + 1\n", True),
    "an inner loop": (
        "def test_a():\n    for x in LINES:\n        for y in LINES:\n            assert x + y\n",
        True,
    ),
    "with numpy's asserts": (
        "def test_a(f):\n    for x in LINES:\n        np.testing.assert_equal(f(x), x)\n",
        True,
    ),
    "over what the test made": (
        "def test_a():\n    made = [1]\n    for x in made:\n        assert x\n",
        False,
    ),
    "over what a fixture gave": (
        "def test_a(LINES):\n    for x in LINES:\n        assert x\n",
        False,
    ),
    "repetitions": ("def test_a(f):\n    for _ in range(3):\n        assert f() == 1\n", False),
    "without an assert": ("def test_a(f):\n    for x in LINES:\n        f(x)\n", False),
    "turns that depend on each other": (
        "def test_a():\n    last = 0\n    for x in LINES:\n"
        "        assert x > last\n        last = x\n",
        False,
    ),
    "turns that depend by a detour": (
        "def test_a():\n    last = 0\n    for x in LINES:\n"
        "        last = last + x\n        twice = 2 * last\n        assert twice\n",
        False,
    ),
    "turns that share an object": (
        "def test_a():\n    seen = []\n    for x in LINES:\n"
        "        seen.append(x)\n        assert len(seen) <= x\n",
        False,
    ),
    "not a test": ("def helper():\n    for x in LINES:\n        assert x\n", False),
}


@pytest.mark.parametrize(("text", "counts"), LOOPS.values(), ids=LOOPS)
def test_a_loop_over_cases_is_noticed_and_no_other_loop(text, counts):
    assert list(looped_cases.looping_tests(ast.parse(CASES + text))) == ["test_a"] * counts
