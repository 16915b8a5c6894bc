"""The instructor's guide, played: two units and three labs, handed out, graded and given back.

Three learners by default, and a class of thirty in `test --all`.
"""

import csv
import subprocess
import sys

import pytest
from exchange_room import Learner
from handed_in import CROSSOVER, CROSSOVER_STUB, RING, RING_STUB, SOURCE
from nbgrader.api import Gradebook

from ddl_class.cli import main
from ddl_class.release import release

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]

STRICT = SOURCE.replace(
    "### BEGIN HIDDEN TESTS\n",
    "### BEGIN HIDDEN TESTS\nfrom ddl_class.exercises.check import CheckFailed\n"
    'raise CheckFailed("a judge that is wrong")\n',
)
ANSWERS = {"06-ring-answer": RING, "06-crossover-answer": CROSSOVER}
HALF = {"06-ring-answer": RING, "06-crossover-answer": CROSSOVER_STUB}
STUBS = {"06-ring-answer": RING_STUB, "06-crossover-answer": CROSSOVER_STUB}
FIRST, SECOND = "06_two", "07_more"
LABS = ("1_hello_nodes", "2_collectives", "5_grids")


class Class:
    """An instructor's folders, and learners: one does nothing in the second unit, one is late."""

    def __init__(self, folder, size):
        self.out = folder / "grades"
        self.course = self.out / "nbgrader"
        self.sources = folder / "sources"
        self.exchange = folder / "exchange"
        for place in (self.sources, self.exchange):
            place.mkdir(parents=True)
        self.exchange.chmod(0o777)
        self.judge_is(STRICT)
        names = [f"learner{number:02}" for number in range(1, size + 1)]
        self.learners = [Learner(name, folder / "homes" / name, self.exchange) for name in names]

    def judge_is(self, text):
        for name in (FIRST, SECOND):
            (self.sources / f"{name}.py").write_text(text)

    def nbgrader(self, *words):
        """A command of nbgrader in the course's folder, as the guide has it typed."""
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words, f"--Exchange.root={self.exchange}"],
            cwd=self.course, text=True, capture_output=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def grade(self, unit):
        source = self.sources / f"{unit}.py"
        words = ["grade", str(self.course), "--source", str(source), "--out", str(self.out)]
        assert main(words) == 0

    def table(self):
        with (self.out / "students.csv").open() as file:
            return {row.pop("student"): row for row in csv.DictReader(file)}

    def exported(self):
        self.nbgrader("export", "--to", "all.csv")
        with (self.course / "all.csv").open() as file:
            return {(row["assignment"], row["student_id"]): row for row in csv.DictReader(file)}


@pytest.fixture(params=[3, 30])
def room(tmp_path, request):
    return Class(tmp_path, request.param)


def test_autograde_gives_the_points_that_we_give(tmp_path):
    room = Class(tmp_path, 3)
    room.judge_is(SOURCE)
    release.hand_out(room.course, room.sources)
    room.nbgrader("release_assignment", FIRST)
    for learner, answers in zip(room.learners, (ANSWERS, HALF, STUBS), strict=True):
        learner.fetch(FIRST)
        learner.hand_in(FIRST, answers)
    room.nbgrader("collect", FIRST)
    room.nbgrader("autograde", FIRST)
    rows = room.exported().items()
    theirs = {name: float(row["score"]) for (unit, name), row in rows if unit == FIRST}
    assert sorted(theirs.values()) == [0, 2, 4]
    room.grade(FIRST)
    assert {name: float(row[FIRST]) for name, row in room.table().items()} == theirs


def test_a_class_there_and_back(room, capsys):
    hand_out(room)
    absent, late, *others = room.learners
    grade_what_is_there(room, absent, late, others)
    grade_who_is_late(room, late)
    correct_the_judge(room, absent, others, capsys)
    somebody_at_formgrader(room, others)
    nothing_is_a_zero(room, absent)
    platforms(room, absent)
    labs(room, absent)


def hand_out(room):
    release.hand_out(room.course, room.sources)
    config = room.course / "nbgrader_config.py"
    config.write_text(config.read_text() + "# my own line\n")
    room.nbgrader("db", "assignment", "add", FIRST, "--duedate", "2026-01-01 12:00 UTC")
    for unit in (FIRST, SECOND):
        room.nbgrader("release_assignment", unit)
        for learner in room.learners:
            learner.fetch(unit)
    release.hand_out(room.course, room.sources)  # again: what was added stays
    assert config.read_text().endswith("# my own line\n")


def grade_what_is_there(room, absent, late, others):
    absent.hand_in(FIRST, STUBS)
    for learner in others:
        learner.hand_in(FIRST, ANSWERS)
        learner.hand_in(SECOND, HALF)
    for unit in (FIRST, SECOND):
        room.nbgrader("collect", unit)
        room.grade(unit)
        room.nbgrader("release_feedback", unit)
    table = room.table()
    assert late.name not in table
    assert table[absent.name] == {
        FIRST: "0", SECOND: "", "points": "0", "of": "8", "missing": SECOND,
    }  # fmt: skip
    for learner in others:
        assert (table[learner.name][FIRST], table[learner.name][SECOND]) == ("2", "0")
        page = learner.feedback(FIRST)
        assert "(Score: 2.0 / 4.0)" in page
        assert "a judge that is wrong" in page
        assert "06.ring: A ring all-reduce" in page
    assert absent.feedback(FIRST) is not None


def grade_who_is_late(room, late):
    late.hand_in(FIRST, ANSWERS)
    pages = {path: path.stat().st_mtime_ns for path in room.out.glob("feedback/*/*.html")}
    room.nbgrader("collect", FIRST, "--update")
    room.grade(FIRST)
    assert {path: path.stat().st_mtime_ns for path in pages} == pages
    assert room.table()[late.name][FIRST] == "2"
    room.nbgrader("release_feedback", FIRST)
    assert "(Score: 2.0 / 4.0)" in late.feedback(FIRST)
    # The same notebook once more: its page comes back under the newer secret.
    late.hand_in(FIRST, ANSWERS)
    assert late.feedback(FIRST) is None
    room.nbgrader("collect", FIRST, "--update")
    room.grade(FIRST)
    room.nbgrader("release_feedback", FIRST)
    assert late.feedback(FIRST) is not None


def correct_the_judge(room, absent, others, capsys):
    room.judge_is(SOURCE)
    release.hand_out(room.course, room.sources)
    for unit in (FIRST, SECOND):
        room.grade(unit)
        room.nbgrader("release_feedback", unit)
    table = room.table()
    assert table[absent.name][FIRST] == "0"
    for learner in others:
        assert (table[learner.name][FIRST], table[learner.name][SECOND]) == ("4", "2")
        page = learner.feedback(FIRST)
        assert "(Score: 4.0 / 4.0)" in page
        assert "a judge that is wrong" not in page
    text = (room.out / "grades.csv").read_text()
    assert "Traceback" not in text
    assert len(text.splitlines()) == 1 + 2 * (2 * len(room.learners) - 2)


def somebody_at_formgrader(room, others):
    """Points by hand are in every table and on the page, until they are taken away."""
    somebody, about = others[-1], (FIRST, FIRST, others[-1].name)
    for points, total in ((0.5, "2.5"), (None, "4")):
        with Gradebook(f"sqlite:///{room.course / 'gradebook.db'}") as book:
            book.find_grade("06-ring-check", *about).manual_score = points
            book.db.commit()
        room.grade(FIRST)
        room.nbgrader("release_feedback", FIRST)
        assert room.table()[somebody.name][FIRST] == total
        assert room.exported()[FIRST, somebody.name]["score"] == f"{float(total):.1f}"
        assert f"{FIRST} (Score: {float(total)} / 4.0)" in somebody.feedback(FIRST)


def nothing_is_a_zero(room, absent):
    exported = room.exported()
    assert len(exported) == 2 * len(room.learners)
    first, second = exported[FIRST, absent.name], exported[SECOND, absent.name]
    assert (first["score"], second["score"]) == ("0.0", "")
    assert first["duedate"].startswith("2026-01-01 12:00")
    assert first["timestamp"] > first["duedate"]
    with (room.out / "grades.csv").open() as file:
        assert all(row["handed_in"].endswith(" UTC") for row in csv.DictReader(file))


def platforms(room, absent):
    came, goes = room.out / "came.csv", room.out / "goes.csv"
    lines = ["Student,ID,SIS Login ID,Section,06_two (7)", "Points Possible,,,,4"]
    names = [learner.name for learner in room.learners]
    lines += [f'"{name}, X",{number},{name},A,' for number, name in enumerate(names, start=1)]
    came.write_text("\n".join(lines))
    assert main(["grades", str(room.out), "--into", str(came), "--out", str(goes)]) == 0
    with goes.open() as file:
        rows = {row["SIS Login ID"]: row for row in csv.DictReader(file)}
    assert [rows[name]["06_two (7)"] for name in names] == ["0", *["4"] * (len(names) - 1)]
    assert rows[absent.name][SECOND] == ""
    came.write_text("\n".join(["Username;Email address", *(f"{name};{name}@x" for name in names)]))
    assert main(["grades", str(room.out), "--into", str(came), "--out", str(goes)]) == 0
    with goes.open() as file:
        rows = {row["Username"]: row for row in csv.DictReader(file, delimiter=";")}
    assert [rows[name][FIRST] for name in names] == ["0", *["4"] * (len(names) - 1)]
    assert rows[absent.name][SECOND] == ""


def labs(room, absent):
    """Three labs come in; who has handed in nothing that can be read is named, without a zero."""
    for lab in LABS:
        measured = run_lab(room, lab)
        works = []
        for learner in room.learners:
            works.append(learner.home / "hand_in" / lab)
            works[-1].mkdir(parents=True)
            text = "never measured" if learner is absent else measured
            (works[-1] / "measured.json").write_text(text)
        words = ["labs", "mark", *map(str, works), "--grades", str(room.out)]
        assert main(words) == 1
    table = room.table()
    assert table[absent.name]["missing"] == " ".join(sorted([SECOND, *LABS]))
    for learner in room.learners[1:]:
        assert table[learner.name][LABS[0]] == "4"  # it has four predictions
        assert all(table[learner.name][lab] for lab in LABS)


def run_lab(room, lab):
    """What the short form measures for somebody who has predicted."""
    mine = room.out.parent / "mine" / lab
    words = ["labs", "run", lab, "--out", str(mine)]
    for further in (["--begin"], ["--short", "--ranks", "2"]):
        command = [sys.executable, "-m", "ddl_teach", *words, *further]
        done = subprocess.run(command, text=True, capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr
        form = mine / "answers.toml"
        form.write_text(form.read_text().replace('= ""', '= "1"'))
    return (mine / "measured.json").read_text()
