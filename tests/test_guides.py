"""The guides are in step with the course: schedules add up, keys and answers are of today."""

import itertools
import re
import runpy
from pathlib import Path

import pytest

from ddl_class.cli import main
from ddl_class.exercises.registry import find_exercise, units
from ddl_class.release.curriculum import LESSONS, PARTS
from slides.deck import DECKS, decks

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDES = runpy.run_path(str(DOCS / "make_guides.py"))
SCHEDULES = GUIDES["schedules"]()
STARRED = [number for number, lesson in LESSONS.items() if lesson.starred]
IN_A_DAY = ["01", "02", "09"]  # units without a star for which a day has time
HALF_A_DAY, A_DAY = 240, 480  # minutes
COMMAND = re.compile(r"\bddl-teach ((?:[a-z]+ ?)+)")
POINTED = {
    exercise: (number, slide)
    for number, path in enumerate(decks(), start=1)
    for slide, text in enumerate(re.split(r"^---$", path.read_text(), flags=re.MULTILINE), start=1)
    for names in re.findall(r"exercise\((.+?)\)", text)
    for exercise in re.findall(r'"(.+?)"', names)
}
BY_HAND = ("instructor_guide.md", "room_troubles.md", "learner_guide.md", "survey.md")


def test_tables_and_answers_are_those_of_today():
    for path, text in GUIDES["pages"]().items():
        assert path.read_text() == text, f"{path.name}: python docs/make_guides.py renews it"


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_minutes_of_a_schedule_add_up(name):
    schedule = SCHEDULES[name]
    days = {"half": (HALF_A_DAY,), "one": (A_DAY,), "two": (A_DAY, A_DAY), "today": (A_DAY, A_DAY)}
    assert schedule.lengths == days[name]
    for day, length in enumerate(schedule.lengths, start=1):
        parts = [part for part in schedule.parts if part.day == day]
        assert sum(part.minutes for part in parts) == length
        for part, after in itertools.pairwise(parts):
            assert part.begins + part.minutes == after.begins
    for part in schedule.parts:
        assert part.what or part.exercises
        if part.exercises:
            minutes = sum(find_exercise(one).minutes for one in part.exercises)
            assert part.minutes == minutes


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_has_pauses_and_its_slides_exist(name):
    parts, worked = SCHEDULES[name].parts, 0
    for before, part in zip((None, *parts), parts, strict=False):
        rest = part.what in ("Pause", "Lunch")
        worked = 0 if rest or (before and before.day != part.day) else worked + part.minutes
        assert worked <= 165, f"nobody sits for so long before {part.begins // 60} o'clock"
        if part.deck:
            (deck,) = DECKS.glob(f"{part.deck}_*.md")
            there = len(re.findall(r"^---$", deck.read_text(), re.MULTILINE)) + 1
            assert list(part.slides) == sorted(set(part.slides))
            assert part.slides[-1] <= there
            assert 1 <= part.minutes / len(part.slides) <= 4, "minutes a slide"


@pytest.mark.parametrize("name", SCHEDULES)
def test_exercises_come_after_the_slides_that_point_at_them(name):
    shown = set()
    for part in SCHEDULES[name].parts:
        shown |= {(part.deck, slide) for slide in part.slides}
        for exercise in part.exercises:
            assert POINTED[exercise] in shown, f"{exercise}: no slide before it"


def test_each_schedule_has_its_units_and_no_exercise_twice():
    today = set(PARTS["Today"])
    earlier = {unit.number for unit in units()} - today
    expected = {"half": STARRED, "one": STARRED + IN_A_DAY, "two": earlier, "today": today}
    for name, numbers in expected.items():
        parts = SCHEDULES[name].parts
        assert {unit for part in parts for unit in part.units} == set(numbers)
        exercises = [one for part in parts for one in part.exercises]
        assert len(exercises) == len(set(exercises))


def test_every_unit_s_questions_have_answers():
    page = GUIDES["answers"]()
    told = dict(re.findall(r"^## (\d\d [^\n]+)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    assert {title[:2] for title in told} == {unit.number for unit in units()}
    for title, text in told.items():
        apart = re.findall(r"^\*\*\d\.\*\*", text, re.MULTILINE)
        listed = re.findall(r"^\d\. ", text, re.MULTILINE)
        answers = text.count("**An answer:**"), text.count("**Answers:**")
        assert (len(apart), len(listed), *answers) in ((3, 0, 3, 0), (0, 6, 0, 1)), title
        assert "<" + "details" not in text


def test_the_grading_key_has_every_point():
    key = GUIDES["grading_key"]()
    everything = [one for unit in units() for one in unit.exercises]
    assert all(f"| `{one.name}` " in key for one in everything)
    points, minutes = (sum(getattr(one, n) for one in everything) for n in ("points", "minutes"))
    assert key.endswith(f"| **all** | **{points}** | **{minutes}** | |")


def test_commands_of_the_guides_exist(capsys):
    wanted = {
        found.strip()
        for name in BY_HAND
        for line in (DOCS / name).read_text().splitlines()
        for found in COMMAND.findall(line)
    }
    known = set()
    for words in wanted:
        with pytest.raises(SystemExit) as ended:
            main([*words.split()[:1], "--help"])
        assert ended.value.code == 0, f"ddl-teach {words}"
        known.add(words.split()[0])
    assert known >= {"doctor", "grade", "release", "labs", "box", "cluster", "progress"}
    capsys.readouterr()


@pytest.mark.parametrize("name", BY_HAND)
def test_pages_for_people_link_to_what_exists(name):
    for link in re.findall(r"\]\(([^)#]+)", (DOCS / name).read_text()):
        assert (DOCS / link).exists(), f"{name}: {link}"


def test_learners_are_told_which_units_have_a_star():
    assert f"starred ones first: {', '.join(STARRED)}." in (DOCS / "learner_guide.md").read_text()


def test_the_survey_asks_the_same_before_and_after():
    before, after = (DOCS / "survey.md").read_text().split("## After the course")
    asked = re.findall(r"^\d\. (.+)$", before, re.MULTILINE)
    assert len(asked) == 3
    assert re.findall(r"^\d\. (.+)$", after, re.MULTILINE) == asked
    guide = " ".join((DOCS / "instructor_guide.md").read_text().split())
    assert all(question[:40] in guide for question in asked[:1])
