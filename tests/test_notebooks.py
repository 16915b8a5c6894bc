"""What a notebook must look like, whatever it teaches; that it runs is pytest's part, by nbval."""

import re
import runpy
import statistics
from pathlib import Path

import nbformat
import pytest

from tests import outputs

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
PATHS = sorted([*NOTEBOOKS.glob("*.ipynb"), *NOTEBOOKS.glob("solved/*.ipynb")])


def short(path):
    return str(path.relative_to(NOTEBOOKS))


each = pytest.mark.parametrize("path", PATHS, ids=short)


def cells(path, kind):
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def is_solution(path, cell):
    return path.parent.name == "solved" and "answer" in cell.metadata.get("tags", ())


@pytest.fixture(scope="module")
def made():
    return runpy.run_path(str(NOTEBOOKS / "make.py"), run_name="make")["made"]()


def test_every_notebook_has_a_source(made):
    assert sorted(made) == PATHS


@each
def test_notebooks_are_what_their_sources_make(made, path):
    assert path.read_text(encoding="utf-8") == made[path], "run: python notebooks/make.py"


@each
def test_the_file_is_valid_and_without_outputs(path):
    nbformat.validate(nbformat.read(path, as_version=4))
    for cell in cells(path, "code"):
        assert cell.outputs == []
        assert cell.execution_count is None


@each
def test_code_comes_in_small_pieces_between_prose(path):
    lengths = [
        len(cell.source.splitlines())
        for cell in cells(path, "code")
        if not is_solution(path, cell)
    ]
    assert max(lengths) <= 10
    assert statistics.median(lengths) <= 5
    kinds = [cell.cell_type for cell in nbformat.read(path, as_version=4).cells]
    assert kinds[0] == kinds[-1] == "markdown"
    # Three pieces of code may follow one another; a fourth wants a word before it.
    assert "code code code code" not in " ".join(kinds)


PUZZLES = {"00_puzzle", "05_more_messages", "20_one_slow_cable"}  # beside a unit's own notebook


@each
def test_a_notebook_has_25_to_60_cells(path):
    count = len(nbformat.read(path, as_version=4).cells)
    assert (1 if path.stem in PUZZLES else 25) <= count <= 60


@each
def test_no_cell_speaks_to_a_tool(path):
    code = "\n".join(cell.source for cell in cells(path, "code"))
    assert not re.search(r"# (fmt|ruff|noqa|type|pragma)\b", code)


@each
def test_a_solution_fits_on_a_screen(path):
    for cell in cells(path, "code"):
        if is_solution(path, cell):
            assert len(cell.source.splitlines()) <= 25


@each
def test_a_notebook_asserts_what_it_claims(path):
    code = "\n".join(cell.source for cell in cells(path, "code"))
    assert code.count("assert ") + code.count("check(") >= 5


def unchecked_pictures(path):
    """The titles of pictures that stand between an answer and its check."""
    titles, answered = [], False
    for cell in cells(path, "code"):
        tags = cell.metadata.get("tags", ())
        answered = "answer" in tags or (answered and "check" not in tags)
        if answered:
            titles += re.findall(r'title="([^"]*)', cell.source)
    return titles


@each
def test_a_picture_of_unchecked_code_states_no_finding(path):
    # What a learner wrote may be wrong; so its title only says whose work is shown.
    assert [title for title in unchecked_pictures(path) if not title.startswith("Your ")] == []


@each
def test_what_is_kept_of_outputs_belongs_to_cells_that_are_there(path):
    ids = {cell.id for cell in cells(path, "code")}
    shown = outputs.kept()[1].get(path.stem, {})
    assert shown.keys() <= ids, f"run: python -m tests.outputs {path.stem}"
