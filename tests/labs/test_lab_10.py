"""Lab 10: a GPT dies on four ranks, goes on on two, and its diary is marked."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import import_file
from ddl_runtime.launcher.mpiexec import mpi_command

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "labs" / "10_the_gpt"
RECORDED = json.loads((ROOT / "benchmarks/results/labs/10.json").read_text())
ANSWERS = ("tokens", "mfu", "fewer", "again", "down", "apart", "goodput", "bill", "young")


def started(folder, ranks, *words, size="100k"):
    """A short training on real ranks of this machine."""
    settings = (f"kept={folder / 'kept'}", f"size={size}", *words)
    command = [*mpi_command(ranks), sys.executable, str(LAB / "program.py"), "--short"]
    command += ["--out", str(folder), *(part for word in settings for part in ("--set", word))]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A training that dies at step 6 on three ranks and is resumed on two."""
    folder = tmp_path_factory.mktemp("lab") / "hand_in"
    died = started(folder, 3, "die=6")
    assert died.returncode != 0
    assert (folder / "kept").is_dir()
    done = started(folder, 2)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def measured(folder):
    return json.loads((folder / "measured.json").read_text())


def right(measured):
    """Computed once more, as the worksheet says it."""
    results = measured["results"]
    first, second = results["attempts"]
    rights = import_file(LAB / "checker.py").right_answers(measured)
    seconds = sorted(step[2] for step in first["steps"])
    middle = (seconds[(len(seconds) - 1) // 2] + seconds[len(seconds) // 2]) / 2
    work = 6 * results["weights"] * results["tokens"]
    assert rights["tokens"] == pytest.approx(results["tokens"] / middle)
    assert rights["mfu"] == pytest.approx(100 * work / middle / first["peak"])
    last = first["steps"][-1]
    assert rights["down"] == pytest.approx(second["steps"][0][1] - last[1] - last[2] - last[4])
    return {name: rights[name] for name in ANSWERS}


def lost(folder, hand_in, answers, measured):
    forms = measured | {"predictions": dict.fromkeys(("mfu", "again", "apart", "goodput"), 1.0)}
    marked = hand_in(folder, forms, answers)
    assert marked.of == 4 + 2 * len(ANSWERS)
    return {mark.name: mark.why for mark in marked.lost}


def test_it_goes_on_with_fewer_ranks_and_the_same_loss(folder, measured, hand_in):
    first, second = measured["results"]["attempts"]
    assert (first["ranks"], second["ranks"]) == (3, 2)
    assert [step[0] for step in first["steps"]] == list(range(6))
    assert [step[0] for step in second["steps"]] == list(range(4, 12))  # saved was every fourth
    for before, after in zip(first["steps"][4:], second["steps"], strict=False):
        assert after[3] == pytest.approx(before[3], rel=1e-5)
    assert second["steps"][-1][3] < 0.8 * first["steps"][0][3]
    assert list((folder / "kept").iterdir()) == []
    assert lost(folder, hand_in, right(measured), measured) == {}


def test_the_recorded_training_has_all_points(folder, hand_in):
    assert lost(folder, hand_in, right(RECORDED), RECORDED) == {}


@pytest.mark.parametrize(
    ("name", "slip", "said"),
    [
        ("tokens", lambda right: right / 1e3, "thousand times too little"),
        ("mfu", lambda right: right / 100, "share for %"),
        ("mfu", lambda right: right * 8 / 6, "6 N D"),
        ("again", lambda right: right + 1, "Count the steps"),
        ("down", lambda right: right * 1e3, "ms for s"),
        ("goodput", lambda right: "", "left empty"),
        ("bill", lambda right: right / 2, "Half of it"),
        ("young", lambda right: right / 2**0.5, "young"),
    ],
)
def test_a_wrong_answer_loses_its_own_points(folder, hand_in, name, slip, said):
    answers = right(RECORDED)
    wrong = lost(folder, hand_in, answers | {name: slip(answers[name])}, RECORDED)
    assert list(wrong) == [name]
    assert said in wrong[name]


def test_who_never_killed_it_or_resumed_on_as_many_ranks_loses_what_that_shows(folder, hand_in):
    whole, alike = copy.deepcopy(RECORDED), copy.deepcopy(RECORDED)
    first, second = whole["results"]["attempts"]
    first["steps"] = first["steps"][:40] + second["steps"]
    whole["results"]["attempts"] = [first]
    wrong = lost(folder, hand_in, dict.fromkeys(ANSWERS, ""), whole)
    assert all("not killed" in wrong[name] for name in ("fewer", "again", "down", "apart"))
    alike["results"]["attempts"][1]["ranks"] = 4
    wrong = lost(folder, hand_in, right(RECORDED), alike)
    assert set(wrong) == {"fewer", "apart"}
    assert "another number" in wrong["apart"]


def test_after_a_death_just_after_a_save_no_step_has_two_losses(folder, hand_in):
    soon = copy.deepcopy(RECORDED)
    first = soon["results"]["attempts"][0]
    first["steps"] = first["steps"][:40]
    answers = right(soon)
    assert answers["again"] == 0
    assert answers["apart"] is None
    assert lost(folder, hand_in, answers | {"apart": ""}, soon) == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda first: first.__setitem__("peak", 0.0), "above 0"),
        (lambda first: first["steps"][3].__setitem__(2, -1.0), "above 0"),
        (lambda first: first["steps"][3].__setitem__(1, 1.0), "was over"),
        (lambda first: first["steps"].pop(3), "follow one another"),
        (lambda first: first["steps"].pop(0), "all of 120"),
        (lambda first: first["steps"][0].__setitem__(4, -1.0), "less than no time"),
        (lambda first: first.__setitem__("started", first["steps"][1][1]), "before its attempt"),
        (lambda first: first.__setitem__("started", 4e9), "before the one above"),
        (lambda first: first.pop("steps"), "is not as"),
    ],
    ids=[
        "no peak",
        "negative",
        "out of order",
        "a gap",
        "no first",
        "save",
        "late",
        "too late",
        "no steps",
    ],
)
def test_what_no_training_can_have_written_is_refused(folder, hand_in, change, said):
    forged, answers = copy.deepcopy(RECORDED), right(RECORDED)
    change(forged["results"]["attempts"][0])
    with pytest.raises(Mistake, match=said):
        lost(folder, hand_in, answers, forged)


def test_an_unknown_size_is_refused_by_one_line(tmp_path):
    done = started(tmp_path, 1, size="7B")
    assert done.returncode != 0
    assert "--set size=7B: it is one of 100k, 1M" in done.stdout + done.stderr


def test_other_settings_than_those_of_the_training_that_is_there_are_refused(tmp_path):
    (tmp_path / "kept").mkdir()
    line = {"settings": {"size": "1M", "texts": 8, "rate": 1e-3, "precision": "float32"}}
    (tmp_path / "kept" / "diary").write_text(json.dumps(line) + "\n")
    done = started(tmp_path, 2)
    assert done.returncode != 0
    assert "holds a training with {'size': '1M'" in done.stdout + done.stderr


def test_a_start_without_a_step_counts_in_the_time_and_not_in_the_bill():
    failed = copy.deepcopy(RECORDED)
    attempts = failed["results"]["attempts"]
    lost = attempts[0] | {"started": attempts[0]["started"] - 600, "steps": []}
    attempts.insert(0, lost)
    checker = import_file(LAB / "checker.py")
    before, after = checker.right_answers(RECORDED), checker.right_answers(failed)
    assert after["goodput"] < before["goodput"] / 5
    assert after["bill"] == before["bill"]
