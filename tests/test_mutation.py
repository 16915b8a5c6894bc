"""A mutation run plants what it says, finds the tests that mirror a file, and (in `test --all`)
shows for each room that its tests notice.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import mutation


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
