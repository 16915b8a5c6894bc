"""Canvas's and Moodle's files come in, and go out with the points in them; all else stays."""

import csv

import pytest

from ddl_class.cli import main
from ddl_class.grading import verdicts
from ddl_class.grading.scoring import Score
from ddl_class.grading.verdicts import Verdict

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,06_two (1234),Essay (99),Final Score
,,,,,Manual Posting,,
    Points Possible,,,,,4,10,(read only)
"Ångström, Ann",101,u1,ann,A,,7,
"Boole, Bob",102,u2,bob@uni.example,A,1,8,
"Curie, Cem",103,u3,cem,B,,9,
"""
MOODLE = """\
First name;Last name;ID number;Email address;Assignment: Essay (Real)
Ann;Ångström;m1;ann@uni.example;7,00
Bob;Boole;m2;bob@uni.example;-
Cem;Curie;m3;cem@uni.example;9,00
"""
WORKSHEET = """\
Identifier,Full name,Email address,Status,Grade,Maximum grade,Feedback comments
Participant 11,Ann Angstrom,ann@uni.example,Submitted,,4.00,
Participant 12,Bob Boole,bob@uni.example,Submitted,3.00,4.00,fine
"""


def put(out, student, assignment, points, of=4.0):
    score = Score(assignment, points, of, "right")
    verdicts.keep(out, Verdict(assignment, student, "digest", [score], {}))


@pytest.fixture
def out(tmp_path):
    out = tmp_path / "grades"
    put(out, "ann", "06_two", 4.0)
    put(out, "ann", "07_more", 2.5, 3.0)
    put(out, "bob", "07_more", 0.0, 3.0)
    return out


@pytest.fixture
def fill(tmp_path, out):
    """`fill(text, *words)`: the status, and the rows that were written."""

    def run(text, *words):
        came, goes = tmp_path / "came.csv", tmp_path / "goes.csv"
        came.write_text(text, encoding="utf-8")
        words = ["grades", str(out), "--into", str(came), "--out", str(goes), *words]
        status = main(words)
        if not goes.exists():
            return status, ""
        return status, goes.read_text(encoding="utf-8")

    return run


def rows(text, delimiter=","):
    return list(csv.reader(text.splitlines(), delimiter=delimiter))


def test_canvas(fill):
    status, text = fill("\ufeff" + CANVAS)
    assert status == 0
    assert text.startswith("\ufeffStudent,ID")
    assert rows(text)[1:] == [
        ["", "", "", "", "", "Manual Posting", "", "", ""],
        ["    Points Possible", "", "", "", "", "4", "10", "(read only)", "3"],
        ["Ångström, Ann", "101", "u1", "ann", "A", "4", "7", "", "2.5"],
        ["Boole, Bob", "102", "u2", "bob@uni.example", "A", "1", "8", "", "0"],
        ["Curie, Cem", "103", "u3", "cem", "B", "", "9", "", ""],
    ]
    assert rows(text)[0][-1] == "07_more"


def test_moodle_with_its_own_marks_between_cells(fill):
    status, text = fill(MOODLE)
    assert status == 0
    assert [row[4:] for row in rows(text, ";")] == [
        ["Assignment: Essay (Real)", "06_two", "07_more"],
        ["7,00", "4", "2.5"],
        ["-", "", "0"],
        ["9,00", "", ""],
    ]


def test_moodle_s_worksheet_of_one_assignment(fill, capsys):
    assert fill(WORKSHEET)[0] == 2
    assert "say which by --only" in capsys.readouterr().err
    status, text = fill(WORKSHEET, "--only", "06_two")
    assert status == 0
    assert [row[4] for row in rows(text)] == ["Grade", "4", "3.00"]  # bob has handed in nothing
    status, _ = fill(WORKSHEET, "--only", "07_more")
    assert status == 1
    assert "look: 07_more has 4.00 points there and 3 here" in capsys.readouterr().out


def test_who_has_no_row_is_named_and_the_others_are_filled_in(fill, out, capsys):
    put(out, "dan", "06_two", 3.0)
    status, text = fill(CANVAS)
    assert status == 1
    assert "surely belongs to dan" in capsys.readouterr().out
    assert rows(text)[3][5] == "4"


def test_names_that_differ_in_their_case_alone_are_left_to_a_person(fill, out, capsys):
    put(out, "Ann", "06_two", 1.0)
    status, text = fill(CANVAS)
    assert status == 1
    assert "ann" in capsys.readouterr().out
    assert rows(text)[3][5] == ""


def test_two_rows_of_one_name_are_left_to_a_person(fill, capsys):
    status, text = fill(CANVAS.replace("103,u3,cem", "103,u3,ann"))
    assert status == 1
    assert "surely belongs to ann" in capsys.readouterr().out
    assert [row[5] for row in rows(text)[3:]] == ["", "1", ""]


def test_another_column_can_be_named(fill, out):
    for student in ("ann", "bob"):
        for path in (out / "verdicts").glob(f"*/{student}.json"):
            path.unlink()
    put(out, "102", "06_two", 2.0)
    status, text = fill(CANVAS, "--key", "ID")
    assert status == 0
    assert rows(text)[4][5] == "2"


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        ("", [], "no column that identifies the students"),
        ("a,b\n1,2\n", [], "no column that identifies the students"),
        (CANVAS + "x,1,2,3,4,5,6,7,8,9\n", [], "the row of 'x' has more cells"),
        (CANVAS, ["--key", "Nick"], "there is no column 'Nick'; there are Student, ID"),
        (CANVAS, ["--only", "08_x"], "no grades of '08_x', but of 06_two, 07_more"),
    ],
)
def test_what_cannot_be_filled_in_is_said(fill, capsys, text, words, told):
    assert fill(text, *words) == (2, "")
    assert told in capsys.readouterr().err


def test_a_row_a_student_is_shown(out, capsys):
    assert main(["grades", str(out)]) == 0
    assert capsys.readouterr().out == (
        "student,06_two,07_more,points,of,missing\nann,4,2.5,6.5,7,\nbob,,0,0,7,06_two\n"
    )


def test_a_folder_without_grades_is_refused(tmp_path, capsys):
    assert main(["grades", str(tmp_path)]) == 2
    assert "holds no grades" in capsys.readouterr().err
