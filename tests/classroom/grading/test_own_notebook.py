"""`ddl-teach grade --mine`: a learner sees what the grader sees, and nothing is kept."""

import json

import pytest
from handed_in import CROSSOVER, RING_STUB, Desk

from ddl_class.cli import main
from ddl_class.grading import command

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture
def saved(desk, tmp_path):
    """`saved(notebook)` is the folder in which this learner's notebook was saved last."""
    folder = tmp_path / "notebooks"
    folder.mkdir()

    def save(notebook, name="06_two.ipynb"):
        (folder / name).write_text(json.dumps(notebook))
        return folder

    return save


@pytest.fixture
def mine(desk, capsys):
    """`mine(place)` is the status and what is printed."""

    def type_line(place, *more):
        words = ["grade", "--mine", str(place), *more]
        return main(words), capsys.readouterr()

    return type_line


def test_a_notebook_that_is_alone_in_its_folder(desk, saved, mine, tmp_path):
    folder = saved(desk.notebook(RING_STUB, CROSSOVER))
    before = set(tmp_path.rglob("*"))
    status, told = mine(folder, "--source", str(desk.source))
    assert status == 0
    assert "06.ring                  0 of 2\n    " in told.out
    assert "not written yet" in told.out
    assert "06.crossover             2 of 2\n06_two.ipynb as it was saved last: 2 of 4" in told.out
    assert "20_300" not in told.out  # a hidden test
    assert set(tmp_path.rglob("*")) == before


def test_the_source_is_known_by_the_notebook_s_name(desk, saved, mine, monkeypatch):
    monkeypatch.setattr(command, "SOURCES", desk.source.parent)
    status, told = mine(saved(desk.notebook(), "06_two-2.ipynb") / "06_two-2.ipynb")
    assert (status, "06_two-2.ipynb as it was saved last: 4 of 4" in told.out) == (0, True)


@pytest.mark.parametrize(
    ("name", "place", "told"),
    [
        ("06_two.ipynb", "nothing.ipynb", "is called as nothing.ipynb is"),
        ("mine.ipynb", "mine.ipynb", "Call the notebook as it was handed out"),
        ("06_two.txt", "", "holds no notebooks. Name yours"),
    ],
)
def test_what_cannot_be_graded_is_said(desk, saved, mine, name, place, told):
    status, printed = mine(saved(desk.notebook(), name) / place)
    assert status == 2
    assert told in printed.err
