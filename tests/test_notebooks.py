"""What a notebook must look like, whatever it teaches; that it runs is pytest's part, by nbval."""

import runpy
import statistics
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
make = runpy.run_path(str(NOTEBOOKS / "make.py"), run_name="make")
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))

each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)


def cells(path, kind):
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def test_every_notebook_has_a_source():
    assert [make["notebook_path"](source) for source in make["SOURCES"]] == PATHS


@pytest.mark.parametrize("source", make["SOURCES"], ids=lambda source: source.name)
def test_notebooks_are_what_their_sources_make(source):
    found = make["notebook_path"](source).read_text(encoding="utf-8")
    assert found == make["notebook_text"](source), "run: python notebooks/make.py"


@each
def test_the_file_is_valid_and_without_outputs(path):
    nbformat.validate(nbformat.read(path, as_version=4))
    for cell in cells(path, "code"):
        assert cell.outputs == []
        assert cell.execution_count is None


@each
def test_code_comes_in_small_pieces_between_prose(path):
    lengths = [len(cell.source.splitlines()) for cell in cells(path, "code")]
    assert max(lengths) <= 10
    assert statistics.median(lengths) <= 5
    kinds = [cell.cell_type for cell in nbformat.read(path, as_version=4).cells]
    assert kinds[0] == kinds[-1] == "markdown"
    # Three pieces of code may follow one another; a fourth wants a word before it.
    assert "code code code code" not in " ".join(kinds)


@each
def test_a_notebook_asserts_what_it_claims(path):
    code = "\n".join(cell.source for cell in cells(path, "code"))
    assert code.count("assert ") >= 5
