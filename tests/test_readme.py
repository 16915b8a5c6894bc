"""The README's program runs as it stands there, and its folders exist."""

import re
from pathlib import Path

import pytest

from ddl_class.exercises.registry import units

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]


def test_the_program_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{[6.0] * 4} ")
    assert float(lines[1]) > 0


@pytest.mark.parametrize("folder", re.findall(r"^\| `([\w/]+)` \|", README, re.MULTILINE))
def test_every_folder_of_the_map_exists(folder):
    assert (ROOT / folder).is_dir()


def test_the_two_commands_are_those_of_start_py():
    help_text = (ROOT / "bootstrap" / "command.py").read_text()
    for command in ("python3 start.py\n", "python3 start.py test\n"):
        assert f"    {command}" in README
        assert command.strip() in help_text


def test_continuous_integration_runs_the_readme_s_test_command():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines == ["#!/usr/bin/env bash", "python3 start.py test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pictures_exist_and_are_described(page):
    for words, path in re.findall(r"!\[(.*?)\]\((.*?)\)", page.read_text(), re.DOTALL):
        assert len(words.split()) > 10, path
        assert (page.parent / path).is_file()


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "docs" / "what_you_see.md"], ids=lambda page: page.name
)
def test_pages_for_learners_show_pictures(page):
    assert "![" in page.read_text()


def test_the_picture_of_progress_is_of_all_exercises_that_there_are():
    every = [exercise for unit in units() for exercise in unit.exercises]
    page = (ROOT / "docs" / "what_you_see.md").read_text()
    points = sum(exercise.points for exercise in every)
    assert f"1 of {len(every)} exercises solved, 2 of {points} points" in page


def test_pictures_are_small():
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs").rglob("*.png")}
    assert {name: size for name, size in sizes.items() if size > 100_000} == {}
