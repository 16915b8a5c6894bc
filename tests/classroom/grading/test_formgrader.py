"""What is given in nbgrader's formgrader stands in all tables; no grading takes it away."""

import csv
import subprocess
import sys

import pytest
from handed_in import CROSSOVER_STUB, RING_STUB, Desk
from nbgrader.api import Gradebook

from ddl_class.cli import main
from ddl_class.grading import batch
from ddl_class.grading.scoring import Score

pytestmark = pytest.mark.slow

UNIT = "06_two"


class RoomWithFormgrader:
    """Two students, a gradebook, and somebody at formgrader."""

    def __init__(self, folder):
        self.desk = Desk(folder)
        self.points = 1.0  # what the grader gives for each exercise
        for student in ("ann", "bob"):
            self.hand_in(student)

    def hand_in(self, student, line=""):
        self.desk.hand_in(student, self.desk.notebook(line + RING_STUB, CROSSOVER_STUB))

    def score(self, nursery, assignment, answers, seed, limits):
        """In the place of sandboxes, which are tested elsewhere."""
        return [Score(each.name, self.points, 2.0, "judged") for each in assignment.exercises]

    def grade(self):
        folders = [str(self.desk.submissions), "--source", str(self.desk.source)]
        return main(["grade", *folders, "--out", str(self.desk.out), "--jobs", "1"])

    def correct_the_judge(self, points):
        self.points = points
        self.desk.source.write_text(self.desk.source.read_text() + "\n# corrected\n")

    def gradebook(self):
        return Gradebook(f"sqlite:///{self.desk.out / 'nbgrader' / 'gradebook.db'}")

    def give(self, student, exercise, points=None, extra=None, comment=None):
        """As formgrader's handlers of grades and comments do."""
        about = UNIT, UNIT, student
        with self.gradebook() as book:
            grade = book.find_grade(f"06-{exercise}-check", *about)
            grade.manual_score, grade.extra_credit = points, extra
            grade.needs_manual_grade = False
            book.find_comment(f"06-{exercise}-answer", *about).manual_comment = comment
            book.db.commit()

    def grade_of(self, student, exercise):
        with self.gradebook() as book:
            grade = book.find_grade(f"06-{exercise}-check", UNIT, UNIT, student)
            return grade.auto_score, grade.score, grade.needs_manual_grade

    def totals(self):
        """By student what our table, what nbgrader's, and what the page of feedback says."""
        course = self.desk.out / "nbgrader"
        export = [sys.executable, "-m", "nbgrader", "export", "--to", "all.csv"]
        subprocess.run(export, cwd=course, check=True, capture_output=True)
        with (self.desk.out / "students.csv").open() as file:
            ours = {row["student"]: float(row["points"]) for row in csv.DictReader(file)}
        with (course / "all.csv").open() as file:
            theirs = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
        pages = {
            student: float(self.page(student).split(f"<h1>{UNIT} (Score: ")[1].split(" /")[0])
            for student in ours
        }
        assert ours == theirs == pages
        return ours

    def page(self, student):
        return (self.desk.out / "feedback" / UNIT / f"{student}.html").read_text()


@pytest.fixture
def room(tmp_path, monkeypatch):
    room = RoomWithFormgrader(tmp_path)
    monkeypatch.setattr(batch, "score_answers", room.score)
    assert room.grade() == 0
    return room


def test_points_extra_credit_and_comments_reach_tables_and_pages(room, capsys):
    room.give("ann", "ring", points=1.5, comment="Look at <the> ends.")
    room.give("ann", "crossover", extra=0.25)
    before = room.page("bob")
    assert room.grade() == 0
    assert room.totals() == {"ann": 2.75, "bob": 2.0}
    assert "Look at &lt;the&gt; ends." in room.page("ann")
    assert room.page("bob") == before
    assert room.grade_of("ann", "ring") == (1.0, 1.5, False)  # nothing was graded again
    capsys.readouterr()
    assert main(["grades", str(room.desk.out)]) == 0
    assert "ann,2.75,2.75,4" in capsys.readouterr().out


def test_the_message_says_who_has_decided(room):
    room.give("ann", "ring", points=2.0)
    room.give("bob", "ring", extra=1.0)
    room.grade()
    with (room.desk.out / "grades.csv").open() as file:
        messages = [row["message"] for row in csv.DictReader(file)]
    by_hand, extra = "decided by hand in formgrader", "1 more as extra credit; judged"
    assert messages == [by_hand, "judged", extra, "judged"]


@pytest.mark.long
def test_they_outlive_a_corrected_judge_and_a_later_hand_in(room):
    room.give("ann", "ring", points=0.5)
    room.correct_the_judge(2.0)
    room.grade()
    assert room.totals() == {"ann": 2.5, "bob": 4.0}
    # The grader's points stand below; nbgrader asks for a second look.
    assert room.grade_of("ann", "ring") == (2.0, 0.5, True)
    room.hand_in("ann", "# again\n")
    room.grade()
    assert room.totals() == {"ann": 2.5, "bob": 4.0}


@pytest.mark.long
def test_taken_away_the_grader_s_points_count_again(room):
    room.give("ann", "ring", points=0.0, extra=0.5)
    room.grade()
    assert room.totals() == {"ann": 1.5, "bob": 2.0}
    room.give("ann", "ring")
    room.grade()
    assert room.totals() == {"ann": 2.0, "bob": 2.0}
    assert room.grade_of("ann", "ring") == (1.0, 1.0, False)


@pytest.mark.long
def test_a_line_by_hand_for_the_same_exercise_is_refused(room, capsys):
    table = room.desk.out / "by_hand.csv"
    table.write_text(f"assignment,student,exercise,points,why\n{UNIT},ann,06.ring,2,seen\n")
    room.give("bob", "ring", points=2.0)
    assert room.grade() == 0
    assert room.totals() == {"ann": 3.0, "bob": 3.0}
    room.give("ann", "ring", points=0.0)
    assert room.grade() == 2
    what = f"by_hand.csv, line 2: {UNIT}, ann, 06.ring has points by nbgrader's formgrader"
    assert what in capsys.readouterr().err
    table.unlink()
    assert room.grade() == 0
    assert room.totals() == {"ann": 1.0, "bob": 3.0}
