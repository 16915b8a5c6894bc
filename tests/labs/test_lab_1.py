"""Lab 1 on two nodes: right answers are those of the learner's own numbers."""

import copy
import json

import pytest

from ddl_class.commands.mistake import Mistake
from ddl_teach.theory.fit import fit

PREDICTED = {"node_of_rank_2": 1, "latency_between": 50, "latency_ratio": 5, "rate_between": 95}


@pytest.fixture(scope="module")
def folder(short_form):
    return short_form("1_hello_nodes", ranks=4, nodes=2, **PREDICTED)


@pytest.fixture(scope="module")
def measured(folder):
    return json.loads((folder / "measured.json").read_text())


@pytest.fixture(scope="module")
def quiet(measured):
    """The same on a machine that nobody disturbs: so that a slip never lies within the noise."""
    quiet = copy.deepcopy(measured)
    for way, latency, per_byte in (("within", 1e-5, 1e-9), ("between", 5e-5, 8.4e-8)):
        pings = quiet["results"][way]
        pings["seconds"] = [latency + size * per_byte for size in pings["bytes"]]
    return quiet


def right(measured):
    """What a learner computes by the worksheet."""
    answers = {"ring_filled": 2, "ring_dealt": 4}
    for way in ("within", "between"):
        pings = measured["results"][way]
        model = fit(pings["bytes"], pings["seconds"])
        answers[f"latency_{way}"] = 1e6 * model.latency
        answers[f"rate_{way}"] = 8e-6 / max(model.per_byte, 1e-15)
    return answers | {"half_between": model.latency / max(model.per_byte, 1e-15)}


def lost(folder, hand_in, answers, measured):
    marked = hand_in(folder, measured, answers)
    assert marked.of == 16
    return {one.name: one.why for one in marked.lost}


def test_the_nodes_are_found_and_right_answers_have_all_points(folder, measured, hand_in):
    assert measured["results"]["nodes"] == [0, 0, 1, 1]
    assert measured["ground"]["nodes"] == ["node0", "node0", "node1", "node1"]
    assert lost(folder, hand_in, right(measured), measured) == {}


@pytest.mark.parametrize(
    ("name", "slip", "said"),
    [
        ("latency_between", lambda us: us / 1e6, "s for us"),
        ("latency_within", lambda us: -us, "was said"),
        ("latency_within", lambda us: "nan", "nan was said"),
        ("rate_between", lambda rate: rate / 8, "bytes for bits"),
        ("rate_within", lambda rate: "", "left empty"),
        ("half_between", lambda size: 20 * size, "latency / per_byte"),
        ("ring_filled", lambda count: 3, r"0, 0, 1, 1"),
        ("ring_dealt", lambda count: 2, r"0, 1, 0, 1"),
    ],
    ids=["seconds", "negative", "nan", "bytes", "empty", "no quotient", "ring", "dealt"],
)
def test_a_wrong_answer_loses_its_own_points_and_is_told_why(
    folder, quiet, hand_in, name, slip, said
):
    answers = right(quiet)
    wrong = lost(folder, hand_in, answers | {name: slip(answers[name])}, quiet)
    assert list(wrong) == [name]
    assert said in wrong[name]


def test_one_node_and_empty_predictions_lose_what_they_lack(folder, measured, hand_in):
    here = copy.deepcopy(measured)
    here["results"] |= {"between": None, "nodes": [0, 0, 0, 0]}
    here["predictions"] = {}
    wrong = lost(folder, hand_in, right(measured) | {"ring_filled": 0, "ring_dealt": 0}, here)
    predictions = {"node_of_rank_2", "latency_ratio", "latency_between", "rate_between"}
    assert set(wrong) == predictions | {"half_between"}
    assert "one node" in wrong["half_between"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda results: results["between"]["seconds"].__setitem__(3, -1e-5), "above 0"),
        (lambda results: results["between"]["seconds"].__setitem__(3, "soon"), "no number"),
        (lambda results: results["within"]["bytes"].pop(), "times of"),
        (lambda results: results["nodes"].pop(), "4 ranks"),
        (lambda results: results.pop("within"), "is not as"),
    ],
    ids=["negative", "word", "one missing", "a rank missing", "no way"],
)
def test_what_nothing_can_have_measured_is_refused(folder, measured, hand_in, change, said):
    forged = copy.deepcopy(measured)
    change(forged["results"])
    with pytest.raises(Mistake, match=said):
        lost(folder, hand_in, right(measured), forged)
