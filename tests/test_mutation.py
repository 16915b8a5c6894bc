"""A mutation run plants what it says, finds the tests that mirror a file, and (in `test --all`)
shows for each room that its tests notice.
"""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import grafts, mutation


def planted(tmp_path, monkeypatch, source):
    """What becomes of these lines in all mutants of a file that holds them."""
    (tmp_path / "ddl_teach").mkdir()
    (tmp_path / "ddl_teach" / "file.py").write_text(source)
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    return [mutant.source for mutant in mutation.mutants(Path("file.py"))]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x = a + b", ["x = (a - b)"]),
        ("x = a < b", ["x = (a <= b)"]),
        ("x = a and b", ["x = (a or b)"]),
        ("x = not a", ["x = (a)"]),
        ("x = 3", ["x = 4"]),
        ("x += a", ["x = a", "x -= a"]),
        ("f(a)", ["pass"]),
        ("raise ValueError(1 + 1)", []),
        ("x: tuple[1, 2]", []),
        ("x.reshape(-1, 8)", ["pass", "x.reshape(-1, 9)"]),
        ("class Any(Protocol): x = 3", []),
    ],
)
def test_a_line_has_these_mutants(tmp_path, monkeypatch, line, wanted):
    assert planted(tmp_path, monkeypatch, line + "\n") == [f"{text}\n" for text in wanted]


def test_a_copy_has_all_that_tests_import():
    tests = mutation.ROOT / "tests"
    left_out = [
        path
        for path in tests.rglob("*.py")
        for place in (path, *path.parents)
        if tests in place.parents and mutation.left_out(str(place.parent), [place.name])
    ]
    assert left_out == []
    assert mutation.left_out(str(mutation.ROOT / "website"), ["built", "make.py"]) == {"built"}


MODULE = """
from dataclasses import dataclass
from functools import cache
LIMIT = 3
@cache
def doubled(x): return 2 * x
@dataclass(frozen=True)
class Pair:
    first: int = 1
    @property
    def all(self): return doubled(self.first) + LIMIT
TABLE = {"sum": lambda a: a + 1}
"""


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("2 * x", "3 * x", (6, 2)),
        ("LIMIT = 3", "LIMIT = 4", (6, 2)),
        ("first: int = 1", "first: int = 2", (7, 2)),
        ("+ LIMIT", "- LIMIT", (-1, 2)),
        ("a + 1", "a - 1", (5, 0)),
        ("1", "1", (5, 2)),
    ],
)
def test_what_was_imported_before_behaves_as_the_changed_source(
    tmp_path, monkeypatch, before, after, wanted
):
    (tmp_path / "grafted.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "grafted", raising=False)
    module = importlib.import_module("grafted")
    pair, add = module.Pair, module.TABLE["sum"]
    assert (pair().all, add(1)) == (5, 2)
    grafts.graft("grafted", MODULE.replace(before, after))
    assert (pair().all, add(1)) == wanted


def test_a_number_that_another_module_has_taken_cannot_be_changed_in_memory(tmp_path, monkeypatch):
    (tmp_path / "grafted.py").write_text(MODULE)
    (tmp_path / "ddl_taker.py").write_text("from grafted import LIMIT")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("grafted", "ddl_taker"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.import_module(name)
    with pytest.raises(grafts.Declined, match="ddl_taker holds LIMIT"):
        grafts.graft("grafted", MODULE.replace("LIMIT = 3", "LIMIT = 4"))
    for name in ("grafted", "ddl_taker"):
        del sys.modules[name]


HANGS = """
import threading
import changed, pytest

@pytest.mark.timeout(2)
def test_that_catches_what_would_end_it():
    try:
        threading.Event().wait()
    except BaseException:
        threading.Event().wait()
"""
TRIED = """
from pathlib import Path
from tests.mutation_forks import Forks, Trial, collected

trial = Trial("a fault", "changed", "", [Path("test_hangs.py")])
collected(trial.tests, "", Forks([lambda: [trial]], 1))
print("became of it:", trial.killer)
"""


@pytest.mark.slow
def test_a_fork_that_hangs_is_ended_and_its_mutant_tried_anew(tmp_path):
    for name, text in {"test_hangs.py": HANGS, "pytest.ini": "[pytest]", "changed.py": ""}.items():
        (tmp_path / name).write_text(text)
    paths = {**os.environ, "PYTHONPATH": f"{mutation.ROOT}:{tmp_path}"}
    run = subprocess.run(
        [sys.executable, "-c", TRIED], cwd=tmp_path, env=paths, capture_output=True, text=True
    )
    assert "became of it: declined: ended with 256" in run.stdout, run.stdout + run.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("networks/pipelines/schedule.py", "tests/networks/"),
        ("training/optimizers/lars.py", "tests/training/"),
        ("plain/winograd.py", "tests/plain/test_plain_operators.py"),
        ("collectives/bruck.py", "tests/runtime/"),  # one test imports it
    ],
)
def test_the_tests_that_mirror_a_file_begin_with_the_nearest(path, first):
    mirrors = [str(test) for test in mutation.mirrors(Path(path))]
    assert mirrors[0].startswith(first)


@pytest.mark.long
def test_tests_of_a_registry_s_files_are_found_beside_them():
    assert Path("tests/collectives/test_others.py") in mutation.mirrors(
        Path("collectives/bruck.py")
    )


@pytest.mark.long
def test_tests_are_found_by_what_their_helpers_import_or_name():
    mirrors = mutation.mirrors(Path("theory/work_depth/winograd.py"))
    assert Path("tests/operators/graphs/test_passes.py") in mirrors


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("room", mutation.ROOMS)
def test_a_room_kills_its_mutants(room):
    words = [sys.executable, "-m", "tests.mutation", room]
    run = subprocess.run(words, cwd=mutation.ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
