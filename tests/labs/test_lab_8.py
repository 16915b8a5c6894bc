"""Lab 8 on four nodes: a rank dies, the others go on, and their diary is marked."""

import copy
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ddl_class.commands.mistake import Mistake
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.launcher.mpiexec import fault_tolerance, mpi_command, mpiexec_path
from ddl_teach.fault_tolerance.again import Again
from ddl_teach.theory.failures import shrinking_wins_below, young

PREDICTED = {"delayed": 8, "lossy": 1.1, "pause": 0.5, "again": 1}
STEPS, DIED = 24, 10
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(short_form):
    try:
        fault_tolerance(mpiexec_path())
    except DiagnosedError as none:
        pytest.skip(str(none))
    words = ("--set", f"die={DIED}", "--set", "now=/tmp/now")
    return short_form("8_faults", *words, ranks=4, nodes=4, survivors=True, **PREDICTED)


@pytest.fixture(scope="module")
def measured(folder):
    return json.loads((folder / "measured.json").read_text())


@pytest.fixture(scope="module")
def lived(measured):
    """The same training with a link that was long, and one that was lossy, and round numbers."""
    lived = copy.deepcopy(measured)
    lived["results"] |= {"save": 0.02, "start": 2.0}
    for place, line in enumerate(lived["results"]["diary"]):
        line[3], line[4] = 100.0 + place, 0.01
        line[2] = ("sound", "delay", "loss")[min(place // 5, 2) if place < 15 else 0]
        if line[2] == "delay":
            line[4] = 0.08
    lived["results"]["diary"][12][4] = 0.5
    return lived


def right(measured):
    """What a learner computes by the worksheet."""
    results = measured["results"]
    diary = results["diary"]
    words = {word: [line[4] for line in diary if line[2] == word] for _, _, word, *_ in diary}
    first = next(place for place, line in enumerate(diary) if line[1] == 3)
    pause = diary[first][3] - diary[first - 1][3]
    every = young(results["save"], 3600)
    answers = {"pause": pause, "again": len(diary) - STEPS, "young": every}
    answers["wins"] = shrinking_wins_below(4, pause, results["start"], every / 2)
    if "delay" in words:
        answers["delayed"] = np.median(words["delay"]) / np.median(words["sound"])
        answers["lossy"] = np.median(words["loss"]) / np.median(words["sound"])
        answers["tail"] = max(words["loss"]) / np.median(words["loss"])
    return {name: float(value) for name, value in answers.items()}


def lost(folder, hand_in, answers, measured):
    marked = hand_in(folder, measured, answers)
    assert marked.of == (4 if measured["results"]["way"] == "restart" else 18)
    return {one.name: one.why for one in marked.lost}


def test_a_rank_dies_the_others_go_on_and_say_what_was(folder, measured, hand_in):
    results = measured["results"]
    assert [line[0] for line in results["diary"]] == list(range(STEPS))
    assert [line[1] for line in results["diary"]] == [4] * DIED + [3] * (STEPS - DIED)
    assert results["losses"] == [[DIED, 3]]
    assert sorted(measured["ground"]["nodes"]) == ["node0", "node1", "node2"]
    assert results["accuracy"] > 0.3  # after 24 steps; by chance it is 0.1
    # No link was broken, and nobody can have answered what that does.
    unseen = lost(folder, hand_in, right(measured), measured)
    assert set(unseen) == {"delayed", "lossy", "tail"}
    assert "echo delay" in unseen["delayed"]


def test_right_answers_have_all_points_whatever_was_broken(folder, lived, hand_in):
    assert lost(folder, hand_in, right(lived), lived) == {}
    napped = copy.deepcopy(lived)
    for line in napped["results"]["diary"]:
        line[2] = {"delay": "nap"}.get(line[2], "sound")
    answers = right(lived) | {"lossy": "", "tail": 1.0}
    assert lost(folder, hand_in, answers, napped) == {}  # where links cannot be shaped


def test_a_restart_is_asked_for_its_pause_and_what_was_done_again(folder, lived, hand_in):
    again = copy.deepcopy(lived)
    diary = again["results"]["diary"]
    again["results"]["way"] = "restart"
    for line in diary:
        line[1] = 4
    again["results"]["diary"] = [*diary[:DIED], *copy.deepcopy(diary[5:])]
    for place, line in enumerate(again["results"]["diary"]):
        line[3] = 50.0 + 2 * place
    assert lost(folder, hand_in, {"pause": 2.0, "again": 5}, again) == {}
    assert set(lost(folder, hand_in, {"pause": 1.0, "again": 0}, again)) == {"pause", "again"}


@pytest.mark.long
def test_a_training_that_restarts_is_whole_and_the_next_one_begins_anew(
    tmp_path, hand_in, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PRTE_MCA_prte_tmpdir_base", str(tmp_path))
    now, out = tmp_path / "now", tmp_path / "hand_in"
    words = ["way=restart", f"now={now}", f"die={DIED + 2}"]
    command = [*mpi_command(4), sys.executable, str(ROOT / "labs/8_faults/program.py"), "--short"]
    command += ["--out", str(out), *(part for word in words for part in ("--set", word))]
    for _ in range(2):
        now.write_text("die")  # left from an earlier training: nobody obeys it
        assert Again(command).run() == 0
        measured = json.loads((out / "measured.json").read_text())
        made = [line[0] for line in measured["results"]["diary"]]
        assert made == [*range(DIED + 2), *range(DIED, STEPS)]  # saved was every fifth
        assert measured["results"]["attempts"] == 2
        assert not [it for it in ("now", "attempts", "diary") if (tmp_path / it).exists()]
    pause = measured["results"]["diary"][DIED + 2][3] - measured["results"]["diary"][DIED + 1][3]
    assert lost(out, hand_in, {"pause": pause, "again": 2}, measured) == {}


def test_a_restart_just_after_a_save_does_no_step_twice(folder, lived, hand_in):
    again = copy.deepcopy(lived)
    again["results"] |= {"way": "restart", "attempts": 2}
    for place, line in enumerate(again["results"]["diary"]):
        line[1], line[3] = 4, 50.0 + place + 7 * (place >= DIED)
    assert lost(folder, hand_in, {"pause": 8.0, "again": 0}, again) == {}
    again["results"]["attempts"] = 1
    unseen = lost(folder, hand_in, {"pause": 8.0, "again": 0}, again)
    assert set(unseen) == {"pause", "again"}
    assert "does not show it" in unseen["pause"]


def test_a_step_that_only_others_were_through_with_is_none_that_is_missing(folder, lived, hand_in):
    behind = copy.deepcopy(lived)
    diary = behind["results"]["diary"]
    [line] = [line for line in diary if line[0] == DIED - 1]
    diary.remove(line)
    assert behind["results"]["losses"] == [[DIED, 3]]
    behind["results"]["losses"].insert(0, [0, 4])  # another one, before anybody had made a step
    diary[4][2:] = ["delay", 104.0, 0.08]
    for again in (0, 1):  # in the diary no step is there twice, and one was begun twice
        assert lost(folder, hand_in, right(behind) | {"again": again}, behind) == {}


@pytest.mark.parametrize(
    ("name", "slip", "said"),
    [
        ("delayed", lambda right: 1 / right, "follows from"),
        ("lossy", lambda right: right * 2, "Twice"),
        ("tail", lambda right: "", "left empty"),
        ("pause", lambda right: right * 1e3, "ms for s"),
        ("pause", lambda right: -right, "fewer ranks"),
        ("again", lambda right: 3, "fewer ranks"),
        ("young", lambda right: right / 2**0.5, "young"),
        ("wins", lambda right: right / 3, "shrinking_wins_below"),
    ],
    ids=["upside down", "twice", "empty", "ms", "negative", "steps", "no 2", "three ranks"],
)
def test_a_wrong_answer_loses_its_own_points(folder, lived, hand_in, name, slip, said):
    answers = right(lived)
    wrong = lost(folder, hand_in, answers | {name: slip(answers[name])}, lived)
    assert list(wrong) == [name]
    assert said in wrong[name]


def test_empty_predictions_lose_theirs(folder, lived, hand_in):
    forgetful = lived | {"predictions": {}}
    assert set(lost(folder, hand_in, right(lived), forgetful)) == {
        "delayed", "lossy", "pause", "again",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda results: results["diary"][3].__setitem__(4, -1.0), "above 0"),
        (lambda results: results["diary"][3].__setitem__(3, 1e9), "began before"),
        (lambda results: results["diary"][-1].__setitem__(1, 4), "back to life"),
        (lambda results: results["diary"].pop(7), "all of 24"),
        (lambda results: results["losses"].append([10**15, 3]), "all of 24"),
        (lambda results: results.__setitem__("save", 0.0), "save and start"),
        (lambda results: results.pop("diary"), "is not as"),
    ],
    ids=["negative", "out of order", "risen", "a step missing", "lost late", "free", "no diary"],
)
def test_what_no_training_can_have_written_is_refused(folder, lived, hand_in, change, said):
    forged = copy.deepcopy(lived)
    change(forged["results"])
    with pytest.raises(Mistake, match=said):
        lost(folder, hand_in, right(lived), forged)


def test_steps_without_number_are_refused_at_once(folder, lived, hand_in):
    endless = lived | {"settings": lived["settings"] | {"steps": 10**15}}
    with pytest.raises(Mistake, match="all of 1000000000000000 steps"):
        lost(folder, hand_in, right(lived), endless)
