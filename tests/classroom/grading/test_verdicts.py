"""One folder holds the grades of many assignments, and no grading loses another's."""

import csv
import subprocess
import sys

import pytest
from handed_in import CROSSOVER_STUB, RING, RING_STUB, Desk

from ddl_class.cli import main
from ddl_class.commands.mistake import Mistake
from ddl_class.grading import batch
from ddl_class.grading.scoring import Score

pytestmark = pytest.mark.slow


@pytest.fixture
def units(tmp_path):
    """Two assignments with one folder for their grades; ann does both, the others do one."""
    first, second = Desk(tmp_path / "first"), Desk(tmp_path / "second")
    second.source = second.source.rename(second.source.with_name("07_more.py"))
    second.out = first.out
    for desk, other in ((first, "bob"), (second, "cem")):
        for student in ("ann", other):
            desk.hand_in(student, desk.notebook(RING_STUB, CROSSOVER_STUB))
    return first, second


@pytest.fixture
def earned(monkeypatch):
    """`earned[source]` is what every exercise earns; sandboxes are tested elsewhere."""
    points = {"06_two": 1.0, "07_more": 2.0}

    def score(nursery, assignment, answers, seed, limits):
        if points[assignment.name] is None:
            raise KeyboardInterrupt
        return [Score(one.name, points[assignment.name], 2.0, "") for one in assignment.exercises]

    monkeypatch.setattr(batch, "score_answers", score)
    return points


def grade(desk):
    return batch.grade(desk.submissions, desk.source, desk.out)


def rows(desk):
    """The table as tuples, without messages."""
    with (desk.out / "grades.csv").open() as file:
        found = list(csv.DictReader(file))
    return [(row["assignment"], row["student"], row["exercise"], row["points"]) for row in found]


def rows_of(assignment, points, *students):
    return [
        (assignment, student, exercise, points)
        for student in students
        for exercise in ("06.ring", "06.crossover")
    ]


def command(desk):
    return ["grade", str(desk.submissions), "--source", str(desk.source), "--out", str(desk.out)]


@pytest.mark.long
def test_a_second_assignment_keeps_what_the_first_has_written(units, capsys):
    first, second = units
    second.hand_in("ann", second.notebook(RING, CROSSOVER_STUB))
    assert main(command(first)) == 0
    assert main(command(second)) == 0
    told = capsys.readouterr().out
    assert str(second.out / "feedback" / "07_more") in told
    assert sorted({(assignment, student) for assignment, student, *_ in rows(first)}) == [
        ("06_two", "ann"),
        ("06_two", "bob"),
        ("07_more", "ann"),
        ("07_more", "cem"),
    ]
    pages = {
        path.relative_to(first.out).as_posix(): path.read_text()
        for path in first.out.glob("feedback/*/*.html")
    }
    assert sorted(pages) == [
        "feedback/06_two/ann.html",
        "feedback/06_two/bob.html",
        "feedback/07_more/ann.html",
        "feedback/07_more/cem.html",
    ]
    assert "(Score: 0.0 / 4.0)" in pages["feedback/06_two/ann.html"]
    assert "(Score: 2.0 / 4.0)" in pages["feedback/07_more/ann.html"]


@pytest.mark.long
def test_one_gradebook_has_both_and_gives_no_points_for_nothing(units):
    for desk in units:
        assert main(command(desk)) == 0
    (book,) = units[0].out.rglob("gradebook.db")
    export = [sys.executable, "-m", "nbgrader", "export", "--to", "all.csv"]
    subprocess.run(export, cwd=book.parent, check=True, capture_output=True)
    with (book.parent / "all.csv").open() as file:
        exported = {
            (row["assignment"], row["student_id"]): (row["score"], row["max_score"])
            for row in csv.DictReader(file)
        }
    assert exported == {
        ("06_two", "ann"): ("0.0", "4.0"),
        ("06_two", "bob"): ("0.0", "4.0"),
        ("06_two", "cem"): ("", "4.0"),
        ("07_more", "ann"): ("0.0", "4.0"),
        ("07_more", "bob"): ("", "4.0"),
        ("07_more", "cem"): ("0.0", "4.0"),
    }


def test_grading_again_replaces_the_rows_of_that_assignment_only(units, earned):
    first, second = units
    grade(second)
    grade(first)
    both = rows_of("06_two", "1", "ann", "bob") + rows_of("07_more", "2", "ann", "cem")
    assert rows(first) == both
    earned["06_two"] = 2.0
    first.source.write_text(first.source.read_text() + "\n# corrected\n")
    grade(first)
    assert rows(first) == rows_of("06_two", "2", "ann", "bob") + both[4:]


def test_an_interrupted_grading_loses_nothing_of_the_others(units, earned):
    first, second = units
    grade(first)
    earned["07_more"] = None
    with pytest.raises(KeyboardInterrupt):
        grade(second)
    assert rows(first) == rows_of("06_two", "1", "ann", "bob")
    earned["07_more"] = 2.0
    grade(second)
    assert rows(first)[4:] == rows_of("07_more", "2", "ann", "cem")


def test_who_is_missing_in_a_later_grading_keeps_the_points_and_is_named(units, earned, capsys):
    first, _ = units
    grade(first)
    (first.submissions / "ann.ipynb").unlink()
    assert main([*command(first), "--no-feedback"]) == 0
    assert "their earlier grades stay: ann" in capsys.readouterr().out
    assert rows(first) == rows_of("06_two", "1", "ann", "bob")


@pytest.mark.parametrize("text", ['{"half": ', "[]", "{}", '{"scores": [{"points": 1}]}'])
@pytest.mark.sampled(4)
def test_a_verdict_that_cannot_be_read_is_named(units, earned, text):
    first, second = units
    grade(first)
    broken = first.out / "verdicts" / "06_two" / "bob.json"
    broken.write_text(text)
    with pytest.raises(Mistake, match=r"bob\.json .*Grade 06_two again"):
        grade(second)
    grade(first)
    assert rows(first) == rows_of("06_two", "1", "ann", "bob") + rows_of(
        "07_more", "2", "ann", "cem"
    )


def test_a_folder_of_the_older_layout_is_refused_before_anything_is_written(units, capsys):
    first, _ = units
    (first.out / "verdicts").mkdir(parents=True)
    (first.out / "verdicts" / "ann.json").write_text("{}")
    assert main(command(first)) == 2
    assert "Name another folder as --out" in capsys.readouterr().err
    assert sorted(path.name for path in first.out.iterdir()) == [".lock", "verdicts"]
