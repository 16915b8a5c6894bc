"""A lab's paper: predictions stay as they were, nothing is half written, marks say why."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddl_teach.cli import main
from ddl_teach.comm.processes import mpi_command, mpi_environment
from ddl_teach.course.labs import folders
from ddl_teach.course.mistake import Mistake

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from ddl_teach.course.labs.hand_in import Lab, Question, main
from ddl_teach.course.mistake import Mistake

def count(comm, *, rounds, bad=0):
    if bad:
        raise Mistake("such rounds cannot be")
    comm.barrier()
    return {"ranks": [comm.size] * rounds} if comm.rank == comm.size - 1 else None

LAB = Lab(
    "1_counting", count, full={"rounds": 3, "bad": 0}, short={"rounds": 1, "bad": 0},
    predictions=(Question("many", "How many ranks will there be?"),),
    answers=(Question("said", "How many were there?"), Question("why", "And why?", str)),
)
if __name__ == "__main__":
    main(LAB)
"""
CHECKER = """
from ddl_teach.course.labs.marking import Contradiction, Mark, number, predicted

def mark(measured, answers):
    ranks = measured["results"]["ranks"]
    if min(ranks) < 1:
        raise Contradiction("no ranks at all")
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
    monkeypatch.setattr(folders, "LABS", home.parent)
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
    assert run(lab, 2, "--set", "rounds=2")[0] == 0
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


def test_one_rank_says_what_is_wrong_and_the_old_measurement_stays(lab):
    work = lab.parents[1] / "tried"
    assert run(lab, 0, "--begin", "--out", "tried")[0] == 0
    before = (work / "answers.toml").read_text()
    assert run(lab, 2, "--short", "--out", "tried")[0] == 0
    measured = (work / "measured.json").read_text()
    for words, said in (
        (["--set", "turns=2"], "the settings of this lab are rounds, bad"),
        (["--set", "bad=1"], "such rounds cannot be"),
        (["--set", "rounds=two"], "a number is needed, such as 1"),
        (["--shortly"], "unrecognized arguments: --shortly"),
    ):
        status, told = run(lab, 2, "--short", "--out", "tried", *words)
        assert status != 0
        assert told.count(said) == 1
        assert "Traceback" not in told
    assert (work / "measured.json").read_text() == measured
    assert (work / "answers.toml").read_text() == before
    assert sorted(path.name for path in work.iterdir()) == ["answers.toml", "measured.json"]


GOOD = {"lab": "1_counting", "short": False, "predictions": {"many": 2.0},
        "results": {"ranks": [2]}}  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "answers", "said"),
    [
        (GOOD | {"lab": "../../1_counting"}, "", "names no lab"),
        (GOOD | {"lab": ["1_counting"]}, "", "names no lab"),
        (GOOD | {"results": {"ranks": [0]}}, "", "cannot be: no ranks at all"),
        (GOOD | {"results": []}, "", "not as 1_counting writes it"),
        ([1, 2], "", "not as a lab writes it"),
        (GOOD, "[answers]\nsaid = {}", "is no number"),
        (GOOD, "[answers]\nsaid = two", "is broken"),
        (GOOD, "[answers]\nbribe = 5", "nobody asked for bribe"),
        (GOOD, "[more]\nsaid = 2", r"\[more\] was not asked"),
        (GOOD, "answers = 2", "keep the lines"),
    ],
)
def test_what_is_no_hand_in_is_refused(lab, measured, answers, said):
    work = lab.parents[1]
    (work / "measured.json").write_text(json.dumps(measured))
    (work / "answers.toml").write_text(answers)
    with pytest.raises(Mistake, match=said):
        folders.mark(work)


def test_nothing_of_a_hand_in_is_run(lab):
    work = lab.parents[1] / "theirs"
    work.mkdir()
    for name in ("program.py", "checker.py", "sitecustomize.py"):
        (work / name).write_text("raise SystemExit('was run')")
    (work / "measured.json").write_text(json.dumps(GOOD))
    marked = folders.mark(work)  # without answers: what was asked is empty
    assert (marked.points, marked.of) == (1, 4)
    assert os.getcwd() != str(work)


def test_what_labs_there_are(lab, capsys):
    assert main(["labs"]) == 0
    assert capsys.readouterr().out == "1_counting      Counting\n"
    assert folders.lab_folder("1") == lab
    with pytest.raises(Mistake, match="no lab '7'; they are 1_counting"):
        folders.lab_folder("7")
