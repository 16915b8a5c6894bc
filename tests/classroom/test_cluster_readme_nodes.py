"""The README's row for the box, typed in a checkout of its own, whose box is its own too."""

import shutil

import psutil
import pytest
from readme_of_clusters import ROOT, SNIPPETS, line, typed

from ddl_class.clusters.box import plan
from tests.house import PACKAGES

pytestmark = [pytest.mark.box, pytest.mark.long, pytest.mark.timeout(1500)]


@pytest.fixture
def course(tmp_path):
    """A checkout, at a path that tells its box from all others."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in (*PACKAGES, "cluster_setup"):
        shutil.copytree(ROOT / name, tmp_path / "course" / name, ignore=ignored)
    return tmp_path / "course"


@pytest.fixture
def terminal(course):
    """`terminal("ddl-teach ...")` is what that line of the README prints."""

    def type_line(begins, more="", folder="FOLDER"):
        command = line(begins).replace("FOLDER", str(folder)) + more
        # What engines read stands in the checkout, which the nodes see.
        return typed(command, course, course, 600, PYTHONPATH=str(course))

    return type_line


@pytest.fixture
def box(course, terminal):
    """The folder of a box that a line has made and another one ends."""
    try:
        terminal("ddl-teach box up")
    except AssertionError as refused:
        if "No box could be made" in str(refused) or "can make a box" in str(refused):
            pytest.skip("no box can be made here")
        raise
    folder = plan.path_of(plan.USUAL, course)
    head = plan.read_state(folder)["head"]
    yield folder
    terminal("ddl-teach box down")
    assert not folder.exists()
    assert not psutil.pid_exists(head)


def test_engines_in_a_box_that_lines_have_made(box, course, terminal):
    assert "4 engines run" in terminal("ddl-teach cluster start box", " --limit 600")
    try:
        (course / "script.py").write_text(SNIPPETS[1].replace('"laptop"', '"box"'))
        command = f"ddl-teach box exec head python {course}/script.py"
        answer = typed(command, course, course, 600, PYTHONPATH=str(course))
        assert [f"{rank} 4 {rank}" in answer for rank in range(4)] == [True] * 4, answer
        assert "fit for the course" in terminal("ddl-teach cluster check box")
    finally:
        assert "They are gone" in terminal("ddl-teach cluster stop box")


def test_a_long_run_in_a_box(box, terminal):
    terminal("ddl-teach box exec head", folder=box / "kept")
    assert (box / "kept" / "result.json").exists()
