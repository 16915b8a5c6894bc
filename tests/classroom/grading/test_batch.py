"""A folder of submissions: found in either layout, graded once, never half written."""

import csv
import fcntl
import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from handed_in import CROSSOVER, RING, RING_STUB, Desk, sandboxes_of
from nbgrader.api import Gradebook

from ddl_class.cli import main
from ddl_class.exercises import unit_06
from ddl_class.grading import batch
from ddl_class.grading.batch import summary
from ddl_class.grading.sandbox import Limits
from ddl_class.grading.scoring import Score
from ddl_class.grading.submission import Assignment

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture
def graded(monkeypatch):
    """Who was really graded; sandboxes are tested elsewhere."""
    done = []

    def score(nursery, assignment, answers, seed, limits):
        done.append(answers["06.ring"])
        return [Score(one.name, 0.0, one.points, "wrong") for one in assignment.exercises]

    monkeypatch.setattr(batch, "score_answers", score)
    return done


def grade(desk, **options):
    return batch.grade(desk.submissions, desk.source, desk.out, **options)


def test_what_was_graded_is_not_graded_again_unless_it_changed(desk, graded):
    for student in ("ann", "bob"):
        desk.hand_in(student, desk.notebook(f"# {student}"))
    first = grade(desk)
    assert graded == ["# ann", "# bob"]
    assert grade(desk) == first
    assert len(graded) == 2
    desk.hand_in("bob", desk.notebook("# bob again"))
    grade(desk)
    assert graded[2:] == ["# bob again"]
    desk.source.write_text(desk.source.read_text() + "\n# more\n")
    grade(desk)
    assert len(graded) == 5


def test_hidden_data_are_new_for_each_hand_in_and_each_attempt(desk, monkeypatch):
    """Feedback shows some of them: they must not come again."""
    seeds = []

    def score(nursery, assignment, answers, seed, limits, earlier=()):
        seeds.append(seed)
        scores = [Score(one.name, 0.0, one.points, "slow") for one in assignment.exercises]
        return [replace(one, doubtful=not earlier, limit="time") for one in scores]

    monkeypatch.setattr(batch, "score_answers", score)
    for student in ("ann", "bob"):
        desk.hand_in(student, desk.notebook())  # the same answers
    grade(desk)
    desk.hand_in("ann", desk.notebook("# again"))
    grade(desk)
    assert len(seeds) == len(set(seeds)) == 6


def test_a_corrected_judge_is_asked_anew(desk, graded, monkeypatch):
    desk.hand_in("ann", desk.notebook("# ann"))
    grade(desk)
    read = Path.read_bytes
    judge = Path(unit_06.__file__).resolve()
    monkeypatch.setattr(
        Path, "read_bytes", lambda path: read(path) + b"# corrected" * (path == judge)
    )
    grade(desk)
    assert graded == ["# ann", "# ann"]
    grade(desk)
    assert len(graded) == 2


def test_a_break_costs_nothing_that_was_done(desk, graded, monkeypatch):
    for number in range(6):
        desk.hand_in(f"s{number}", desk.notebook(f"# {number}"))
    whole = batch.score_answers

    def interrupted(nursery, assignment, answers, *others):
        if answers["06.ring"] == "# 3":
            raise KeyboardInterrupt
        return whole(nursery, assignment, answers, *others)

    monkeypatch.setattr(batch, "score_answers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        grade(desk)
    assert not (desk.out / "grades.csv").exists()
    assert {f"# {number}" for number in range(3)} <= set(graded)
    (desk.out / "verdicts" / "06_two" / "s0.json").write_text('{"half": ')
    graded.clear()
    monkeypatch.setattr(batch, "score_answers", whole)
    assert len(grade(desk)) == 6
    assert {"# 0", "# 3"} <= set(graded)  # a broken verdict, and the one that was interrupted
    assert not {"# 1", "# 2"} & set(graded)
    assert not list(desk.out.rglob("*.part"))


def test_a_defect_of_the_grader_costs_the_others_nothing(desk, monkeypatch):
    failures = []

    def score(nursery, assignment, answers, seed, limits):
        if "bob" in answers["06.ring"]:
            failures.append(answers)
            raise ZeroDivisionError("no idea")
        return [Score(one.name, 1.0, 2.0, "right") for one in assignment.exercises]

    monkeypatch.setattr(batch, "score_answers", score)
    for student in ("ann", "bob"):
        desk.hand_in(student, desk.notebook(f"# {student}"))
    ann, bob = grade(desk)
    assert ann.scores[0].points == 1
    assert "grade by hand: ZeroDivisionError" in bob.scores[0].message
    assert "so look yourself: bob (06.ring), bob (06.crossover)" in summary([ann, bob], desk.out)
    rows = list(csv.DictReader((desk.out / "grades.csv").open()))
    assert [row["student"] for row in rows if "grade by hand" in row["message"]] == ["bob"] * 2
    before = len(failures)
    grade(desk)
    assert len(failures) > before, "a failure of ours is no verdict to go on with"


def test_the_command_grades_and_keeps_the_books(desk, capsys):
    script = "<script>alert(1)</script>"
    desk.hand_in("ann", desk.notebook())
    hostile = f"# {script}\ndef ring_allreduce(comm, x):\n    raise Exception('{script}')"
    desk.hand_in("eve", desk.notebook(hostile))
    desk.hand_in("bob", desk.notebook(RING_STUB, f"print('{script}')\n" + CROSSOVER))
    desk.hand_in("odd", b"{")
    words = ["grade", str(desk.submissions), "--source", str(desk.source), "--out", str(desk.out)]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "06.ring                  1 of 4 right" in told.out
    assert "grading   [########################] 4/4 odd" in told.err
    rows = list(csv.DictReader((desk.out / "grades.csv").open()))
    assert [(row["student"], row["points"], row["of"]) for row in rows[:3]] == [
        ("ann", "2", "2"),
        ("ann", "2", "2"),
        ("bob", "0", "2"),
    ]

    assert booked_scores(desk) == {"ann": 4, "bob": 2, "eve": 2, "odd": 0}
    pages = {
        path.stem: path.read_text() for path in (desk.out / "feedback" / "06_two").glob("*.html")
    }
    assert set(pages) == {"ann", "bob", "eve", "odd"}
    for page in pages.values():
        assert script not in page
        assert "20_300" not in page  # a hidden test
        assert "the solution of the instructor" not in page
    assert "(Score: 4.0 / 4.0)" in pages["ann"]
    assert "not written yet" in pages["bob"]
    assert "Exception: &lt;script&gt;" in pages["eve"]
    assert "this is not a notebook" in pages["odd"]

    # Typed again, nothing is done twice; a changed submission is entered anew.
    before = {
        path: path.stat().st_mtime_ns for path in (desk.out / "feedback" / "06_two").glob("*.html")
    }
    desk.hand_in("bob", desk.notebook())
    assert main(words) == 0
    after = {path: path.stat().st_mtime_ns for path in before}
    assert {path.stem for path in before if before[path] != after[path]} == {"bob"}
    assert booked_scores(desk)["bob"] == 4


def booked_scores(desk):
    """What nbgrader's gradebook says."""
    with Gradebook(f"sqlite:///{desk.out / 'nbgrader' / 'gradebook.db'}") as gradebook:
        found = gradebook.assignment_submissions("06_two")
        return {submission.student.id: submission.score for submission in found}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere", "--source", "SOURCE", "--out", "OUT"], "no folder nowhere"),
        (["SUBMISSIONS", "--source", "nothing.py", "--out", "OUT"], "no source nothing.py"),
        (["SUBMISSIONS", "--source", "SOURCE", "--out", "SOURCE"], "is a file; name a folder"),
        (["SUBMISSIONS", "--source", "SOURCE", "--out", "OUT"], "No submissions"),
    ],
)
def test_the_command_says_what_cannot_be_done(desk, capsys, words, told):
    places = {"SOURCE": desk.source, "OUT": desk.out, "SUBMISSIONS": desk.submissions}
    assert main(["grade", *(str(places.get(word, word)) for word in words)]) == 2
    assert told in capsys.readouterr().err


def test_an_interrupt_ends_the_grading_at_once(desk):
    desk.hand_in("slow", desk.notebook("while True: pass"))
    words = [str(desk.submissions), "--source", str(desk.source), "--out", str(desk.out)]
    grader = subprocess.Popen(
        [sys.executable, "-m", "ddl_teach", "grade", *words, "--timeout", "1000"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(batch.__file__).parents[3],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while len(busy := sandboxes_of(grader)) < 2 and grader.poll() is None:
        time.sleep(0.1)
    time.sleep(0.5)
    grader.send_signal(signal.SIGINT)
    _, told = grader.communicate(timeout=60)
    assert grader.returncode == 130, told
    assert told == "Interrupted. Type the same line again to go on where it was.\n"
    assert not [one for one in busy if one.is_running()]


def test_two_gradings_do_not_write_into_one_folder(desk, capsys):
    desk.out.mkdir()
    with open(desk.out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["grade", str(desk.out), "--source", "x", "--out", str(desk.out)]) == 2
    assert "another grading" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "loaded"),
    [
        ("# torch.distributed is compared with it, and pandas is not", []),
        ("import numpy as np, torch", ["torch"]),
        ("    from torch.nn import Linear", ["torch"]),
        ("from scipy.special import erf", ["scipy.special"]),
        ("frames = import_module('pandas')", ["pandas"]),
        ("import torchvision", []),
        (r"a = 1\nimport torch", ["torch"]),  # as a file may write lines of a cell
    ],
)
def test_what_cells_import_is_loaded_once_for_all(line, loaded):
    assert batch.slow_modules([], Assignment("06_two", (), (line,))) == loaded


def test_a_verdict_is_plain_data(desk):
    desk.hand_in("ann", desk.notebook(RING, CROSSOVER))
    shutil.rmtree(desk.out, ignore_errors=True)
    (verdict,) = grade(desk, limits=Limits(seconds=200))
    kept = json.loads((desk.out / "verdicts" / "06_two" / "ann.json").read_text())
    assert kept["scores"][0].pop("seed") == verdict.scores[0].seed > 0
    assert kept["scores"][0] == {
        "exercise": "06.ring",
        "points": 2,
        "of": 2,
        "message": "right",
        "printed": "",
        "doubtful": False,
        "limit": "",
    }
    assert kept["digest"] == verdict.digest
