"""A lab's paper: predictions stay as they were, nothing is half written, marks say why."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddl_class.cli import main
from ddl_class.commands.mistake import Mistake
from ddl_class.labs import command
from ddl_runtime.launcher import mpiexec as processes
from ddl_runtime.launcher.mpiexec import mpi_command, mpi_environment

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_class.commands.mistake import Mistake

def count(comm, *, rounds, bad=0, which=()):
    if bad:
        raise Mistake("such rounds cannot be")
    comm.barrier()
    return {"ranks": [comm.size] * rounds} if comm.rank == comm.size - 1 else None

LAB = Lab(
    "1_counting", count, full={"rounds": 3, "bad": 0, "which": [1]},
    short={"rounds": 1, "bad": 0, "which": [1]},
    predictions=(Question("many", "How many ranks will there be?"),),
    answers=(Question("said", "How many were there?"), Question("why", "And why?", str)),
)
if __name__ == "__main__":
    main(LAB)
"""
CHECKER = """
from ddl_class.labs.marking import Contradiction, Mark, number, predicted

def mark(measured, answers):
    ranks = measured["results"]["ranks"]
    if min(ranks) < 1:
        raise Contradiction(measured["results"].get("name", "no ranks at all"))
    float(sum(ranks)) / len(ranks)
    why = Mark("why", 1 if answers["why"] else 0, 1, "It was left empty.")
    return [predicted(measured, "many"), number(answers, "said", ranks[0], of=2), why]
"""


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A lab of its own, and the folder in which somebody works at it."""
    home = tmp_path / "labs" / "1_counting"
    home.mkdir(parents=True)
    (home / "worksheet.md").write_text("# Counting\n")
    (home / "program.py").write_text(PROGRAM)
    (home / "checker.py").write_text(CHECKER)
    monkeypatch.setattr(command, "LABS", home.parent)
    return home


def run(lab, ranks, *words):
    start = mpi_command(ranks) if ranks else []
    done = subprocess.run(
        [*start, sys.executable, str(lab / "program.py"), *words], cwd=lab.parents[1],
        capture_output=True, text=True, timeout=120, check=False, env=mpi_environment(),
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def answer(folder, **said):
    text = (folder / "answers.toml").read_text()
    for name, value in said.items():
        assert f'{name} = ""' in text
        text = text.replace(f'{name} = ""', f"{name} = {value}")
    (folder / "answers.toml").write_text(text)


def test_predict_measure_answer_and_be_marked(lab, capsys):
    work = lab.parents[1] / "hand_in" / "1_counting"
    status, told = run(lab, 3)
    assert status != 0
    assert told.count("Predict first") == 1
    assert not (work / "measured.json").exists()
    answer(work, many=3)
    assert run(lab, 3)[0] == 0
    first = json.loads((work / "measured.json").read_text())
    assert first["results"] == {"ranks": [3, 3, 3]}
    assert first["ground"]["ranks"] == len(first["ground"]["nodes"]) == len(first["sent"]) == 3
    # Whoever knows better now keeps the old prediction.
    text = (work / "answers.toml").read_text()
    (work / "answers.toml").write_text(text.replace("many = 3", "many = 2"))
    status, told = run(lab, 2, "--set", "rounds=2")
    assert status == 0
    assert told.count("took the place of an earlier measurement") == 1
    again = json.loads((work / "measured.json").read_text())
    assert again["results"] == {"ranks": [2, 2]}
    assert again["predictions"] == {"many": 3.0}
    answer(work, said=3, why='"I counted"')
    marks = lab.parents[1] / "marks.csv"
    assert main(["labs", "mark", str(work), str(lab), "--csv", str(marks)]) == 1
    shown = capsys.readouterr()
    assert "3 was said, 2 follows from what was measured" in shown.out
    assert "was the lab measured?" in shown.err
    rows = list(csv.reader(marks.open()))
    assert [row[2:4] for row in rows[1:]] == [["2", "4"], ["", ""]]


def test_without_predictions_no_rank_is_started(lab, monkeypatch, capsys):
    monkeypatch.chdir(lab.parents[1])
    monkeypatch.setattr(os, "execvpe", lambda *_: pytest.fail("ranks were started"))
    assert main(["labs", "run", "1"]) == 2
    said = capsys.readouterr().err
    assert "Predict first" in said
    assert len(said.splitlines()) == 1


@pytest.mark.long
def test_one_rank_says_what_is_wrong_and_the_old_measurement_stays(lab):
    work = lab.parents[1] / "tried"
    assert run(lab, 0, "--begin", "--out", "tried")[0] == 0
    before = (work / "answers.toml").read_text()
    assert run(lab, 2, "--short", "--out", "tried")[0] == 0
    measured = (work / "measured.json").read_text()
    for words, said in (
        (["--set", "turns=2"], "the settings of this lab are rounds, bad, which"),
        (["--set", "bad=1"], "such rounds cannot be"),
        (["--set", "rounds=two"], "a number is needed, such as 1"),
        (["--set", "which=1"], "a list is needed, such as [1]"),
        (["--shortly"], "unrecognized arguments: --shortly"),
    ):
        status, told = run(lab, 2, "--short", "--out", "tried", *words)
        assert status != 0
        assert told.count(said) == 1
        assert "Traceback" not in told
    assert (work / "measured.json").read_text() == measured
    assert (work / "answers.toml").read_text() == before
    assert sorted(path.name for path in work.iterdir()) == ["answers.toml", "measured.json"]
    answer(work, many="inf")
    status, told = run(lab, 2, "--out", "tried")
    assert status != 0
    assert told.count("many = inf is no number") == 1  # before anything is measured


GOOD = {"lab": "1_counting", "short": False, "predictions": {"many": 2.0},
        "results": {"ranks": [2]}}  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "answers", "said"),
    [
        (GOOD | {"lab": "../../1_counting"}, "", "names no lab"),
        (GOOD | {"lab": ["1_counting"]}, "", "names no lab"),
        (GOOD | {"results": {"ranks": [0]}}, "", "no lab can measure: no ranks at all"),
        (GOOD | {"results": []}, "", "not as 1_counting writes it"),
        (GOOD | {"results": {"ranks": [10**400]}}, "", "not as 1_counting writes it"),
        ([1, 2], "", "was not written by a lab"),
        (GOOD, "[answers]\nsaid = {}", "is no number"),
        (GOOD, "[answers]\nsaid = two", "is broken"),
        (GOOD, "[answers]\nsaid = " + 5000 * "9", "is broken"),
        (GOOD, "[answers]\nsaid = " + 400 * "9", "is no number"),
        (GOOD, "[answers]\nsaid = '1,048,576'", "Neither units nor commas"),
        (GOOD, "[answers]\nsaid = " + 5000 * "[", "is broken"),
        (GOOD, "[answers]\nbribe = 5", "no question is called bribe"),
        (GOOD, "[more]\nsaid = 2", r"take \[more\] away"),
        (GOOD, "answers = 2", "keep the lines"),
    ],
    ids=["path", "no name", "contradiction", "no results", "huge", "list", "table", "word",
         "endless", "huge answer", "commas", "deep", "bribe", "part", "no parts"],
)  # fmt: skip
def test_what_is_no_hand_in_is_refused(lab, measured, answers, said):
    work = lab.parents[1]
    (work / "measured.json").write_text(json.dumps(measured))
    (work / "answers.toml").write_text(answers)
    with pytest.raises(Mistake, match=said):
        command.mark_folder(work)


@pytest.mark.parametrize("name", ["measured.json", "answers.toml"])
def test_who_hands_in_a_pipe_holds_nobody_up(lab, name):
    work = lab.parents[1]
    (work / "measured.json").write_text(json.dumps(GOOD))
    (work / name).unlink(missing_ok=True)
    os.mkfifo(work / name)
    with pytest.raises(Mistake, match="is no file, or longer"):
        command.mark_folder(work)


def test_what_is_quoted_steers_no_terminal_and_every_other_folder_is_marked(lab, capsys):
    works = [lab.parents[1] / name for name in ("first", "second")]
    sly = "\x1b[2J\ud800 all points" + 5000 * "!"
    for work, results in zip(works, ({"ranks": [0], "name": sly}, {"ranks": [2]}), strict=True):
        work.mkdir()
        (work / "measured.json").write_text(json.dumps(GOOD | {"results": results}))
    marks = lab.parents[1] / "marks.csv"
    assert main(["labs", "mark", *map(str, works), "--csv", str(marks)]) == 1
    shown = capsys.readouterr()
    assert "no lab can measure: ?[2J? all points!" in shown.err
    assert len(shown.err) < 3000
    assert "1 of 4  in all" in shown.out
    assert "?[2J?" in marks.read_text()


def test_nothing_of_a_hand_in_is_run(lab):
    work = lab.parents[1] / "theirs"
    work.mkdir()
    for name in ("program.py", "checker.py", "sitecustomize.py"):
        (work / name).write_text("raise SystemExit('was run')")
    (work / "measured.json").write_text(json.dumps(GOOD))
    marked = command.mark_folder(work)  # without answers: what was asked is empty
    assert (marked.points, marked.of) == (1, 4)
    assert os.getcwd() != str(work)


def test_ranks_that_cannot_outlive_others_are_not_started(lab, monkeypatch, capsys):
    monkeypatch.setattr(processes, "mpi_family", lambda mpiexec: "mpich")
    assert main(["labs", "run", "1", "--short", "--survivors"]) == 2
    told = capsys.readouterr().err
    assert "lets no rank outlive another" in told
    assert "Traceback" not in told


def test_what_labs_there_are(lab, capsys):
    assert main(["labs"]) == 0
    assert capsys.readouterr().out == "1_counting      Counting\n"
    assert command.lab_folder("1") == lab
    with pytest.raises(Mistake, match="no lab '7'; they are 1_counting"):
        command.lab_folder("7")


def handed_in(lab, *places):
    """The same honest work in these places."""
    works = []
    for place in places:
        works.append(lab.parents[1] / place)
        works[-1].mkdir(parents=True)
        measured = {"lab": lab.name, "results": {"ranks": [2]}, "predictions": {"many": 2.0}}
        (works[-1] / "measured.json").write_text(json.dumps(measured))
    return list(map(str, works))


def test_points_of_labs_stand_beside_those_of_notebooks(lab, capsys):
    works = handed_in(lab, "class/ann/1_counting", "class/bob/hand_in/1_counting", "class/cem")
    out = lab.parents[1] / "grades"
    assert main(["labs", "mark", *works, "--grades", str(out)]) == 0
    table = (out / "students.csv").read_text()
    assert table == ("student,1_counting,points,of,missing\nann,1,1,4,\nbob,1,1,4,\ncem,1,1,4,\n")
    assert "1_counting,ann,1_counting.why,0,1,,It was left empty." in (
        (out / "grades.csv").read_text()
    )


def test_two_folders_of_one_student_are_refused_before_any_is_marked(lab, capsys):
    works = handed_in(lab, "class/ann/1_counting", "later/ann/1_counting")
    out = lab.parents[1] / "grades"
    assert main(["labs", "mark", *works, "--grades", str(out)]) == 2
    assert "two of these folders would be ann's 1_counting" in capsys.readouterr().err
    assert not out.exists()


def test_a_folder_of_nobody_is_refused(lab, capsys):
    works = handed_in(lab, "a b/1_counting")
    assert main(["labs", "mark", *works, "--grades", str(lab.parents[1] / "grades")]) == 2
    assert "'a b' cannot name a student" in capsys.readouterr().err
