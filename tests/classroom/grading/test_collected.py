"""Whatever lies in a folder of submissions, each student has one row, and nobody is stopped."""

import json

import pytest

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.collected import find_submissions
from ddl_class.grading.submission import Assignment, Unreadable, read_answers


@pytest.fixture
def folder(tmp_path):
    """`folder(names)` holds files of these names; one that ends in / is an empty folder."""

    def make(*names):
        for name in names:
            path = tmp_path / name
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_text("{}")
        return tmp_path

    return make


def rows(folder):
    """Who handed in which file, and for what cannot be graded why."""
    return {
        work.student: work.problem or work.path.relative_to(folder).as_posix()
        for work in find_submissions(folder, "06_two")
    }


LAYOUTS = {
    "flat": "flat.ipynb",
    "ann": "ann/06_two/06_two.ipynb",
    "bob": "bob/06_two.ipynb",
    "renamed": "renamed/06_two/mine.ipynb",
    "named": "named/06_two/06_two.ipynb",
}


@pytest.mark.parametrize("above", ["", "submitted/"])
def test_nbgraders_layout_and_one_notebook_a_student_are_found(folder, above):
    others = ("other/05_messages/05_messages.ipynb", "named/06_two/scratch.ipynb", "notes.txt")
    whole = folder(*(f"{above}{name}" for name in (*LAYOUTS.values(), *others)))
    assert rows(whole) == {student: f"{above}{path}" for student, path in LAYOUTS.items()}


ODD = {
    "X.IPYNB": {"X": "X.IPYNB"},
    "two words.ipynb": {"two_words": "two words.ipynb"},
    "it's.ipynb": {"it_s": "it's.ipynb"},
    "José-Ñandú.ipynb": {"José-Ñandú": "José-Ñandú.ipynb"},
    "SURNAME GIVEN_123_assignsubmission_file_/any name.ipynb": {
        "SURNAME_GIVEN": "SURNAME GIVEN_123_assignsubmission_file_/any name.ipynb"
    },
    "Name First_7_assignsubmission_file_06_two.ipynb": {
        "Name_First": "Name First_7_assignsubmission_file_06_two.ipynb"
    },
    "doejane_12_345_06_two-1.ipynb": {"doejane": "doejane_12_345_06_two-1.ipynb"},
    "doejane_LATE_12_345_06_two.ipynb": {"doejane": "doejane_LATE_12_345_06_two.ipynb"},
    "A B_1_assignsubmission_file_/my work/mine.ipynb": {
        "A_B": "A B_1_assignsubmission_file_/my work/mine.ipynb"
    },
    "bob/course/notebooks/06_two.ipynb": {"bob": "bob/course/notebooks/06_two.ipynb"},
    "bob/06_two/again/mine.ipynb": {"bob": "bob/06_two/again/mine.ipynb"},
    "bob/05_messages/05_messages.ipynb": {},
    "__MACOSX/._ann.ipynb": {},
    "__MACOSX/bob/06_two.ipynb": {},
    ".ipynb_checkpoints/bob.ipynb": {},
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_a_row_and_no_obstacle(folder, name):
    assert rows(folder("ann.ipynb", name)) == {"ann": "ann.ipynb"} | ODD[name]


PROBLEMS = {
    "an empty folder": (["bob/"], "bob", "there is no notebook in the folder"),
    "another kind of file": (["bob/report.pdf"], "bob", "there is no notebook in the folder"),
    "an empty folder of a platform": (
        ["A B_1_assignsubmission_file_/"], "A_B", "there is no notebook in the folder"
    ),
    "no notebook from a platform": (
        ["doejane_12_345_report.pdf"], "doejane", "report.pdf, is no notebook"
    ),
    "two that could be meant": (["bob/a.ipynb", "bob/b.ipynb"], "bob", "2 notebooks and none"),
    "two of one name": (["bob/a/06_two.ipynb", "bob/b/06_two.ipynb"], "bob", "2 notebooks and a"),
    "a platform's folder without one": (
        ["A B_1_assignsubmission_file_/work/report.pdf"], "A_B", "there is no notebook"
    ),
    "two ways": (["bob.ipynb", "bob/06_two/06_two.ipynb"], "bob", "handed in twice, as"),
}  # fmt: skip


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_cannot_be_graded_is_a_row_with_its_reason(folder, case):
    names, student, why = PROBLEMS[case]
    told = rows(folder("ann.ipynb", *names))
    assert told.pop("ann") == "ann.ipynb"
    assert list(told) == [student]
    assert why in told[student]


@pytest.mark.parametrize("name", ["bob.ipynb", "bob"])
def test_a_broken_link_is_a_row(folder, name):
    whole = folder("ann.ipynb")
    (whole / name).symlink_to(whole / "nothing")
    assert "symbolic link" in rows(whole)["bob"]


def test_a_notebook_counts_before_what_is_none(folder):
    names = ("doejane_12_345_06_two.ipynb", "doejane_12_346_report.pdf")
    assert rows(folder(*names)) == {"doejane": names[0]}


def test_students_of_one_name_stay_apart(folder):
    names = [f"A B_{number}_assignsubmission_file_/06_two.ipynb" for number in (1, 2)]
    assert rows(folder(*names)) == {"A_B_1": names[0], "A_B_2": names[1]}
    assert len(rows(folder("c d.ipynb", "c_d.ipynb", "c'd.ipynb"))) == 5


@pytest.mark.parametrize("names", [[], ["notes.txt"], [".hidden.ipynb"]])
def test_a_wrong_folder_is_told_what_it_should_be(folder, names):
    with pytest.raises(Mistake, match=r"(?s)No submissions for 06_two.*one notebook a student"):
        find_submissions(folder(*names), "06_two")


@pytest.mark.parametrize(
    ("notebook", "why"),
    [
        ({}, "this is not a notebook"),
        ({"cells": {}}, None),
        ({"nbformat": 3, "worksheets": [{"cells": []}]}, "a format from before 2015"),
        ([{"cells": []}], "this is not a notebook"),
    ],
)
def test_what_is_no_notebook_of_today_is_told(notebook, why):
    raw, assignment = json.dumps(notebook).encode(), Assignment("06_two", (), ())
    if why is None:
        assert read_answers(raw, assignment) == {}
    else:
        with pytest.raises(Unreadable, match=why):
            read_answers(raw, assignment)
