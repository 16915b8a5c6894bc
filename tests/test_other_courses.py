"""The page for teachers of other courses: its units, minutes, exercises and files are there."""

import re
from pathlib import Path

import pytest

from ddl_class.exercises.registry import units
from ddl_class.release.curriculum import LESSONS, PARTS

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "other_courses.md").read_text(encoding="utf-8")
EVERY = {number for numbers in PARTS.values() for number in numbers}
EXERCISES = {exercise.name for unit in units() for exercise in unit.exercises}
HOURS = {"Two hours": 120}


def section(title):
    [text] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return text


@pytest.mark.parametrize(
    "title", ["Assignment: write a ring all-reduce", "Assignment: fill a pipeline"]
)
def test_an_assignment_is_a_unit_with_its_minutes_and_exercises(title):
    text = section(title)
    [number] = re.findall(r"^Unit (\d\d),", text, re.MULTILINE)
    notebooks = {path.name for path in (ROOT / "notebooks").glob(f"{number}_*.ipynb")}
    assert set(re.findall(r"`(\w+\.ipynb)`", text)) <= notebooks
    [time] = re.findall(r"^\| Time \| (\w+ hours)", text, re.MULTILINE)
    assert HOURS[time] == LESSONS[number].minutes
    named = re.findall(r"`(\d\d\.\w+)`", text)
    assert named
    assert set(named) <= EXERCISES


@pytest.mark.parametrize(
    "row", re.findall(r"^\|[^|]+\| ([\d][^|]*) \|$", section("Curricula"), re.MULTILINE)
)
def test_a_topic_of_a_curriculum_names_units(row):
    assert set(re.findall(r"\d\d", row)) <= EVERY


def test_every_unit_is_in_one_of_the_curricula():
    text = section("Curricula")
    spans = re.findall(r"(\d\d) to (\d\d)", text)
    named = {
        *re.findall(r"\d\d", text),
        *(f"{n:02}" for a, b in spans for n in range(int(a), int(b))),
    }
    assert EVERY - named == set()


@pytest.mark.parametrize("path", re.findall(r"`([\w/]+/)`", PAGE))
def test_its_folders_are_there(path):
    assert (ROOT / path).is_dir()


def test_each_bank_of_a_unit_has_ten_questions():
    assert "has ten or more questions a unit" in PAGE
    banks = [path.read_text("utf-8") for path in ROOT.glob("ddl_class/retrieval/bank/unit_*.toml")]
    assert min(bank.count("[[items]]") for bank in banks) >= 10
