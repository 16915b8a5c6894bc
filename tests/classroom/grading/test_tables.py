"""A row an exercise and a row a student: nothing is no zero, and no cell has two lines."""

import csv
import io

import pytest

from ddl_class.commands.mistake import Mistake
from ddl_class.grading import tables, verdicts
from ddl_class.grading.scoring import Score
from ddl_class.grading.verdicts import Verdict

DEADLOCK = "\n  Deadlock: each rank waits.\nTraceback (most recent call last):\n  File x\n"


def verdict(student, assignment, *points, message="right"):
    scores = [Score(f"{assignment}.{at}", each, 2.0, message) for at, each in enumerate(points)]
    return Verdict(assignment, student, "digest", scores, {})


ALL = [
    verdict("ann", "05", 2.0, 2.0),
    verdict("ann", "06", 0.0, 2.0, message=DEADLOCK),
    verdict("bob", "06", 0.0, 0.0, message="=1+1"),
]


@pytest.fixture
def out(tmp_path):
    for each in ALL:
        verdicts.keep(tmp_path, each)
    return tmp_path


def read(text):
    return list(csv.reader(io.StringIO(text)))


def test_a_row_a_student_with_totals_and_without_wrong_zeros():
    assert read(tables.students_text(ALL)) == [
        ["student", "05", "06", "points", "of", "missing"],
        ["ann", "4", "2", "6", "8", ""],
        ["bob", "", "0", "0", "8", "05"],
    ]


def test_no_cell_has_a_traceback_or_a_formula(out):
    tables.write_tables(out)
    text = (out / tables.EXERCISES).read_text()
    messages = [row[-1] for row in read(text)]
    assert messages[3:5] == ["Deadlock: each rank waits."] * 2
    assert messages[5:] == ["'=1+1"] * 2
    assert len(text.splitlines()) == 1 + 6


def test_a_long_message_is_cut():
    assert len(tables.one_line("a" * 1000)) < 210
    assert tables.one_line(" \n \n") == ""


def by_hand(out, *lines):
    (out / tables.BY_HAND).write_text(
        "\n".join(["assignment,student,exercise,points,why", *lines])
    )


def test_what_a_person_decides_stands_above_the_grader(out):
    by_hand(out, "06,bob,06.1,1.5,ran on my machine")
    tables.write_tables(out)
    assert (out / tables.STUDENTS).read_text().endswith("bob,,1.5,1.5,8,05\n")
    assert "06,bob,06.1,1.5,2,,decided by hand: ran on my machine" in (
        (out / tables.EXERCISES).read_text()
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("06,cem,06.1,1,", "line 2: 06, cem, 06.1 has no grade"),
        ("06,bob,06.7,1,", "06, bob, 06.7 has no grade"),
        ("06,bob,06.1,3,", "06.1 gives 0 to 2 points, not 3"),
        ("06,bob,06.1,nan,", "gives 0 to 2 points, not nan"),
        ("06,bob,06.1,all,", "'all' is no number of points"),
        ("06,bob", "None is no number of points|'' is no number of points"),
    ],
)
def test_a_decision_about_nothing_is_refused(out, line, told):
    by_hand(out, line)
    with pytest.raises(Mistake, match=told):
        tables.write_tables(out)


def test_decisions_need_their_head(out):
    (out / tables.BY_HAND).write_text("bob,1\n")
    with pytest.raises(Mistake, match="its first line must be assignment,student"):
        tables.write_tables(out)
