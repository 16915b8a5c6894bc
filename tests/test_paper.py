"""The paper about the course: its numbers, its code and its citations."""

import re
import tomllib
from math import isfinite
from pathlib import Path

import numpy as np
import pytest

from ddl_class.exercises.registry import units
from ddl_teach import simulate

ROOT = Path(__file__).resolve().parents[1]
PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
TEXT = " ".join(PAPER.split())
BANK = sorted(ROOT.glob("ddl_class/retrieval/bank/*.toml"))
SMALL = {"eight": 8, "nine": 9, "ten": 10, "eleven": 11}
WHAT = {
    "Jupyter notebooks": len(list(ROOT.glob("notebooks/source/*.py"))),
    "units": len(units()),
    "exercises that are graded": sum(len(unit.exercises) for unit in units()),
    "questions that learners answer": sum(len(unit.predictions) for unit in units()),
    "puzzles with a best known answer": sum(
        isfinite(exercise.best_known) for unit in units() for exercise in unit.exercises
    ),
    "labs for": len(list(ROOT.glob("labs/*/worksheet.md"))),
    "slide decks": len(list(ROOT.glob("slides/decks/*.md"))),
    "questions for recall": sum(
        len(tomllib.loads(path.read_text(encoding="utf-8"))["items"]) for path in BANK
    ),
}


@pytest.mark.parametrize("what", WHAT)
def test_the_paper_counts_what_is_there(what):
    [number] = re.findall(rf"(\w+) {what}", TEXT)
    assert (SMALL.get(number) or int(number)) == WHAT[what]


def test_its_sections_are_those_that_the_journal_asks_for():
    sections = set(re.findall(r"^# (.*)$", PAPER, re.MULTILINE))
    asked = "Summary", "Statement of need", "Instructional design", "Experience of use"
    assert {*asked, "Learning objectives", "References"} <= sections


def test_what_it_cites_is_in_its_list_and_the_list_has_nothing_else():
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(re.findall(r"@(\w+)", PAPER)) == set(listed)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_its_program_adds_up_the_vectors_of_all_ranks(ranks):
    names = {"np": np}
    exec(PAPER.split("```python\n")[1].split("```")[0], names)

    def program(comm):
        x = np.arange(4.0) + comm.rank
        names["ring"](comm, x)
        return x

    wanted = ranks * np.arange(4.0) + ranks * (ranks - 1) / 2
    assert all(np.array_equal(x, wanted) for x in simulate(program, ranks).results)
