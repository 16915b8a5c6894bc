"""A notebook that was handed out has the package and nothing else: no checkout lies beside it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from notebook import notebook

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = {path.stem: nbformat.read(path, 4) for path in ROOT.glob("notebooks/*.ipynb")}
READS = r"\btrue_measurements\(\)"  # what was recorded
LEFT_BY_PYTHON = {"__pycache__", ".ipynb_checkpoints"}


def code(name):
    return [cell.source for cell in NOTEBOOKS[name].cells if cell.cell_type == "code"]


READERS = sorted(name for name in NOTEBOOKS if re.search(READS, "\n".join(code(name))))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package as an installation copies it."""
    clone, copied = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    ignored = shutil.ignore_patterns(*LEFT_BY_PYTHON)
    shutil.copytree(ROOT / "ddl_teach", clone / "ddl_teach", ignore=ignored)
    build = "from setuptools import setup; setup()"
    command = [sys.executable, "-c", build, "-q", "build_py", "--build-lib", str(copied)]
    subprocess.run(command, cwd=clone, check=True, capture_output=True)
    return copied


def files(folder):
    """All files of the package in a folder."""
    package = folder / "ddl_teach"
    found = {path.relative_to(package) for path in package.rglob("*") if path.is_file()}
    return {path for path in found if not LEFT_BY_PYTHON & set(path.parts)}


def test_an_installation_has_every_file_of_the_package(installed):
    assert files(installed) == files(ROOT)


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_no_cell_reads_what_stands_in_a_clone_only(name):
    for cell in code(name):
        assert not re.search(r"\b(benchmarks|labs|docs|tests)[/.]", cell)


def test_somebody_reads_what_was_recorded():
    assert "18_twelve_ways" in READERS


@pytest.mark.parametrize("name", READERS)
@pytest.mark.long
def test_what_was_recorded_is_found_from_any_folder(name, installed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = code(name)
    last = max(number for number, cell in enumerate(cells) if re.search(READS, cell))
    with notebook(PYTHONPATH=str(installed)) as opened:
        status, said = opened.run("import ddl_teach\nprint(ddl_teach.__file__)")
        assert said.startswith(str(installed))
        for cell in cells[: last + 1]:
            status, said = opened.run(cell)
            assert status == "ok", said
