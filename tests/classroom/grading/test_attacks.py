"""Hostile and honest submissions in one batch: each earns what its answers are worth, and no more.

The score is made outside of every sandbox from what was really sent, so there is nothing inside to
forge. What is tried here beside that: to read, to change, to stop what is not one's own.
"""

import csv
import os
import re
import socket
import time

import psutil
import pytest
from attacks import FORGING, SNOOPING, TALKING
from cases import chosen
from handed_in import HONEST, Desk, odd_files
from harm import HARMING

from ddl_class.grading.batch import grade
from ddl_class.grading.sandbox import Limits

pytestmark = pytest.mark.slow

ATTACKS = FORGING | TALKING | SNOOPING | HARMING
MEMORY = 300 * 2**20
LONG, SHORT = 120.0, 4.0  # seconds: enough on the busiest machine, and for what never ends
POINTS = 2.0  # of either exercise
HONEST_STUDENTS = len(HONEST)


@pytest.fixture(scope="module")
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def student_of(attack):
    return re.sub(r"\W+", "-", attack)


@pytest.fixture(scope="module")
def graded(request, tmp_path_factory, port):
    """The batch: its desk, what each earns, and what each was given, by student."""
    desk = Desk(tmp_path_factory.mktemp("batch"))
    endless = Desk(tmp_path_factory.mktemp("endless"))
    places = desk.places(port)
    earned = odd_files(desk)
    for number in range(HONEST_STUDENTS):
        ring, crossover, right = list(HONEST.values())[number % len(HONEST)]
        desk.hand_in(f"honest{number:02}", desk.notebook(ring, crossover))
        earned[f"honest{number:02}"] = (*right, "")
    for name in chosen(request, "attack"):
        attack = ATTACKS[name]
        (endless if attack.slow else desk).hand_in(
            student_of(name), desk.notebook(attack.source(**places))
        )
        earned[student_of(name)] = (attack.earns, True, attack.told)
    os.environ["SECRET_OF_THE_GRADER"] = "1"
    try:
        verdicts = [
            verdict
            for one, seconds in ((desk, LONG), (endless, SHORT))
            if one.submissions.is_dir()  # of a sample none may be endless
            for verdict in grade(
                one.submissions, one.source, one.out, jobs=4, limits=Limits(seconds, MEMORY)
            )
        ]
    finally:
        del os.environ["SECRET_OF_THE_GRADER"]
    return desk, earned, {verdict.student: verdict for verdict in verdicts}


def check(graded, student):
    _, earned, verdicts = graded
    *right, told = earned[student]
    scores = verdicts[student].scores
    messages = [score.message for score in scores]
    assert not [text for text in messages if "LEAK" in text]
    assert [score.points for score in scores] == [POINTS * one for one in right], messages
    assert re.search(f"(?s){told}", messages[0]), messages[0]
    for text in (*messages, *(score.printed for score in scores)):
        assert len(text) < 10_000
        assert "\x1b" not in text


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.sampled(8)
def test_an_attack_earns_what_its_answer_is_worth(graded, attack):
    check(graded, student_of(attack))


def test_odd_files_earn_what_can_be_read_of_them(graded):
    desk, *_ = graded
    for student in odd_files(Desk(desk.marks / "again")):
        check(graded, student)


def test_honest_submissions_beside_them_are_graded_right(graded):
    for number in range(HONEST_STUDENTS):
        check(graded, f"honest{number:02}")


def test_nothing_is_left_behind_and_nothing_was_changed(graded):
    desk, *_ = graded
    assert [path.name for path in desk.marks.iterdir() if path.name != "again"] == []
    assert desk.source.read_text()
    assert (desk.submissions / "honest00.ipynb").stat().st_size > 1000
    deadline = time.monotonic() + 60
    while _left_behind() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _left_behind() == []


def _left_behind():
    """Processes of sandboxes that still live."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or ())
        ours = "inside/start.py" in words and process.ppid() in (1, os.getpid())
        if ours or "12345.678" in words:
            found.append(words)
    return found


def test_the_grades_are_a_table_that_no_spreadsheet_executes(graded):
    desk, earned, _ = graded
    rows = list(csv.DictReader((desk.out / "grades.csv").read_text().splitlines(keepends=True)))
    elsewhere = {student_of(name) for name, attack in ATTACKS.items() if attack.slow}
    students = earned.keys() - elsewhere
    assert {row["student"] for row in rows} == students
    assert len(rows) == 2 * len(students)
    assert not [row for row in rows if row["message"].startswith(("=", "+", "-", "@"))]
