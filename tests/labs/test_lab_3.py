"""Lab 3 on two nodes: three ways that average alike, and quotients against a stated baseline."""

import copy
import json

import numpy as np
import pytest

from ddl_class.commands.mistake import Mistake
from ddl_measure.scaling import Baseline, Measured, strong, weak
from ddl_teach.theory.fit import fit

PREDICTED = {"speed_up": 1.5, "efficiency": 60, "averaging": 3, "limit": "messages"}
FLOOR, BUCKET, DDP = "no messages", "one bucket", "torch's DDP"
RANKS = 2
OWN = """
from ddl_teach.collectives import recursive_doubling

def mine(comm, x):
    recursive_doubling.allreduce(comm, x)
"""


@pytest.fixture(scope="module")
def folder(box_of, short_form):
    box = box_of(RANKS)
    (box.folder / "mine.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(box.folder)  # where torch's ranks meet: a folder that both nodes see
        made = short_form(
            "3_scaling", "--set", "yours=mine.py:mine", ranks=RANKS, nodes=2, **PREDICTED
        )
    assert [path for path in box.folder.iterdir() if "gloo" in path.name] == []
    return made


@pytest.fixture(scope="module")
def measured(folder):
    return json.loads((folder / "measured.json").read_text())


@pytest.fixture(scope="module")
def quiet(measured):
    """The same on a machine that nobody disturbs, with 100 ms of computing and 30 of messages."""
    quiet = copy.deepcopy(measured)
    results, samples = quiet["results"], quiet["settings"]["samples"]
    pings = results["between"]
    pings["seconds"] = [5e-5 + 8.4e-8 * size for size in pings["bytes"]]
    added = {FLOOR: 0.0, DDP: 0.015, "overlapped": 0.02, BUCKET: 0.03, "yours": 0.04}
    for row in results["rows"]:
        extra = added[row["way"]] if row["ranks"] > 1 else 0.0
        seconds = 0.1 * row["work"] / samples / row["ranks"] + extra
        row["seconds"] = [seconds] * len(row["seconds"])
    return quiet


def right(measured):
    """What a learner computes by the worksheet."""
    results, samples = measured["results"], measured["settings"]["samples"]
    seconds = {(row["way"], row["ranks"], row["work"]): row["seconds"] for row in results["rows"]}
    alone = Baseline(1, samples, seconds[FLOOR, 1, samples], "one rank, no messages")
    ddp, floor = (
        strong([Measured(RANKS, samples, seconds[way, RANKS, samples])], alone).rows[0]
        for way in (DDP, FLOOR)
    )
    every = RANKS * samples
    grown = weak([Measured(RANKS, every, seconds[DDP, RANKS, every])], alone).rows[0]
    middle = {way: 1e3 * np.median(seconds[way, RANKS, every]) for way in (FLOOR, BUCKET, DDP)}
    added = middle[BUCKET] - middle[FLOOR]
    line = fit(results["between"]["bytes"], results["between"]["seconds"])
    each = line.latency + results["gradients"] / RANKS * line.per_byte
    cores, messages = RANKS / floor.speed_up[0], floor.speed_up[0] / ddp.speed_up[0]
    return {
        "speed_up": ddp.speed_up[0],
        "efficiency": 100 * grown.efficiency[0],
        "floor": floor.speed_up[0],
        "serial": 100 * ddp.serial_share,
        "averaging": added,
        "model": 1e3 * 2 * (RANKS - 1) * each,
        "limit": "cores" if cores > messages else "messages",
        "hidden": 100 * (middle[BUCKET] - middle[DDP]) / added if added > 0 else 0,
        "kind": "weak",
    }


def lost(folder, hand_in, answers, measured):
    marked = hand_in(folder, measured, answers)
    assert marked.of == 21
    return {f"{one.name} of {one.of:g}": one.why for one in marked.lost}


@pytest.mark.long
def test_all_ways_end_alike_and_right_answers_have_all_points(folder, measured, hand_in):
    results = measured["results"]
    assert results["machines"] == 1
    assert len(results["rows"]) == 5 * 3  # 16 samples on one rank, 16 and 32 on two
    for row in results["rows"]:
        assert (row["apart"] > 1e-5) == (row["way"] == FLOOR and row["ranks"] > 1)
    assert lost(folder, hand_in, right(measured), measured) == {}


@pytest.mark.parametrize(
    ("name", "slip", "said"),
    [
        ("speed_up", lambda it: 2 * it, "baseline of the worksheet"),
        ("efficiency", lambda it: it / 100, "follows from"),
        ("floor", lambda it: -it, "was said"),
        ("serial", lambda it: it + 50, "serial_share"),
        ("averaging", lambda it: it / 1e3, "s for ms"),
        ("model", lambda it: it / 2, "Half of it"),
        ("hidden", lambda it: "", "left empty"),
        ("limit", lambda it: "cores", "messages is right here"),
    ],
    ids=["twice", "share", "negative", "serial", "seconds", "half", "empty", "cores"],
)
def test_a_wrong_answer_loses_its_own_points_and_is_told_why(
    folder, quiet, hand_in, name, slip, said
):
    answers = right(quiet)
    wrong = lost(folder, hand_in, answers | {name: slip(answers[name])}, quiet)
    assert list(wrong) == [f"{name} of 2"]
    assert said in wrong[f"{name} of 2"]


def test_weak_scaling_is_called_weak_and_one_rank_scales_nothing(folder, quiet, hand_in):
    answers = right(quiet) | {"kind": "strong"}
    assert list(lost(folder, hand_in, answers, quiet)) == ["kind of 1"]
    alone = copy.deepcopy(quiet)
    alone["ground"]["ranks"], alone["results"]["nodes"] = 1, [0]
    alone["results"]["rows"] = [row for row in quiet["results"]["rows"] if row["ranks"] == 1]
    wrong = lost(folder, hand_in, answers, alone)
    assert len(wrong) == 9
    assert all("one rank" in why for why in wrong.values())


def of(results, way, ranks):
    return next(row for row in results["rows"] if (row["way"], row["ranks"]) == (way, ranks))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda results: of(results, DDP, 2)["seconds"].__setitem__(0, -1), "above 0"),
        (lambda results: of(results, DDP, 2).update(work=17), "neither strong nor weak"),
        (lambda results: of(results, BUCKET, 2).update(apart=0.1), "other weights"),
        (lambda results: of(results, FLOOR, 2).update(apart=0.0), "it has averaged"),
        (lambda results: results["rows"].remove(of(results, DDP, 2)), "is not as"),
    ],
    ids=["negative", "work", "apart", "floor", "one row missing"],
)
def test_what_nothing_can_have_measured_is_refused(folder, quiet, hand_in, change, said):
    forged = copy.deepcopy(quiet)
    change(forged["results"])
    with pytest.raises(Mistake, match=said):
        lost(folder, hand_in, right(quiet), forged)
