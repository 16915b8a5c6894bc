"""The digest under which verdicts are kept changes with what they depend on only."""

import os

import pytest

from ddl_class.grading import verdicts
from ddl_class.grading.verdicts import fingerprint

FILES = {"__init__.py": "", "exercises/unit_06.py": "points = 2", "table.json": "[1]"}


def package(folder, names=FILES):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES[name])
    return folder


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "exercises" / "unit_06.py").write_text("points = 3"),
        lambda folder: (folder / "table.json").write_text("[2]"),
        lambda folder: (folder / "more.py").touch(),
        lambda folder: (folder / "table.json").unlink(),
        lambda folder: (folder / "table.json").rename(folder / "list.json"),
    ],
    ids=["a judge", "its data", "a new file", "a file less", "a new name"],
)
def test_it_changes_with_the_package(tmp_path, change):
    before = fingerprint([package(tmp_path)])
    change(tmp_path)
    assert fingerprint([tmp_path]) != before


def test_it_depends_neither_on_the_order_of_files_nor_on_the_folder(tmp_path):
    forwards = package(tmp_path / "a")
    backwards = package(tmp_path / "b", reversed(FILES))
    assert fingerprint([forwards]) == fingerprint([backwards])


@pytest.mark.parametrize(
    "name",
    [
        "__pycache__/unit_06.cpython-311.pyc",
        "exercises/__pycache__/unit_06.cpython-311.opt-1.pyc",
        "unit_06.pyc",
        ".ipynb_checkpoints/unit_06.py",
        ".unit_06.py.swp",
    ],
)
def test_it_does_not_change_with_by_products(tmp_path, name):
    before = fingerprint([package(tmp_path)])
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("anything")
    os.utime(tmp_path / "__init__.py", (0, 0))
    assert fingerprint([tmp_path]) == before


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_it_changes_with_the_version_of_a_library(tmp_path, monkeypatch, library):
    before = fingerprint([package(tmp_path)])
    version = verdicts.metadata.version

    def newer(name):
        return version(name) + ("+newer" if name == library else "")

    monkeypatch.setattr(verdicts.metadata, "version", newer)
    assert fingerprint([tmp_path]) != before


def test_a_library_that_is_not_installed_is_no_error(tmp_path):
    known, unknown = (fingerprint([tmp_path], [name]) for name in ("numpy", "no-such-library"))
    assert known != unknown
