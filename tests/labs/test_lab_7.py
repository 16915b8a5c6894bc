"""Lab 7 on four nodes: break-even bandwidths from what was measured there."""

import copy
import json
from statistics import median

import pytest

from ddl_class.commands.mistake import Mistake

PREDICTED = {"fastest": "1 bit", "top_1_wins_by": 20, "one_bit_pays_below": 500}
PACKED = ("1 bit", "QSGD", "TernGrad", "top 1%")


@pytest.fixture(scope="module")
def measured(short_form):
    folder = short_form("7_compression", ranks=4, nodes=4, **PREDICTED)
    return json.loads((folder / "measured.json").read_text())


@pytest.fixture
def marked(measured, hand_in, tmp_path):
    """The points lost by a hand-in with other measurements or answers, by name."""

    def mark(change=None, honest=True, **answers):
        told = copy.deepcopy(measured)
        if change is not None:
            change(told)
        found = hand_in(tmp_path, told, (right(told) if honest else {}) | answers)
        return found, {one.name: one.of - one.points for one in found.lost}

    return mark


def pays_below(form, n, ranks=4):
    """In bytes a second, by the formulas of the worksheet."""
    m, e, d = form["message"], form["pack"], form["unpack"]
    around = 2 * (ranks - 1) / ranks
    if form["way"] == "gathered":
        return (around * n - (ranks - 1) * m) / (e + ranks * d)
    return around * (n - m) / ((1 + 1 / ranks) * e + 2 * d)


def right(told):
    results, n = told["results"], 4 * told["settings"]["numbers"]
    rate, forms = 1 / results["per byte"], results["forms"]
    even = {name: pays_below(form, n) for name, form in forms.items()}
    took = {"dense": median(results["dense"])}
    took |= {name: median(form["seconds"]) for name, form in forms.items()}
    return {
        "link": 8e-6 * rate,
        "one_bit_pays_below": 8e-6 * even["1 bit"],
        "qsgd_pays_below": 8e-6 * even["QSGD"],
        "top_1_pays_below": 8e-6 * even["top 1%"],
        "should_win": sum(each > rate for each in even.values()),
        "did_win": sum(took[name] < took["dense"] for name in forms),
        "fastest": min(took, key=took.get),
        "ranks_for_nothing": -(-2 * n // forms["top 1%"]["message"]),
    }


def test_four_forms_on_four_nodes_and_right_answers(measured, marked):
    found, lost = marked()
    assert lost == {}
    assert (found.points, found.short) == (15, True)
    results, numbers = measured["results"], measured["settings"]["numbers"]
    assert tuple(results["forms"]) == PACKED
    assert [form["way"] for form in results["forms"].values()] == ["owners"] * 3 + ["gathered"]
    assert all(form["message"] < numbers for form in results["forms"].values())
    assert len(results["dense"]) == len(results["forms"]["QSGD"]["seconds"]) == 3


def slow_link(told):
    """As if it had been measured at a millionth of the bandwidth."""
    results = told["results"]
    results["per byte"] *= 1e6
    results["dense"] = [1e10] * 3
    for form in results["forms"].values():
        form["seconds"] = [5e9] * 3
    results["forms"]["TernGrad"]["seconds"] = [4e9, 1e12, 4e9]


def test_on_a_slow_link_all_win(marked):
    said = {"should_win": 4, "did_win": 4, "fastest": "TernGrad"}
    assert marked(slow_link, **said)[1] == {}
    assert marked(slow_link, did_win=3, fastest="dense")[1] == {"did_win": 1, "fastest": 1}
    assert marked(slow_link, should_win=3)[1] == {"should_win": 1}


def unpredicted(told):
    told["predictions"]["fastest"] = None


@pytest.mark.parametrize(
    ("change", "answers", "lost", "why"),
    [
        (unpredicted, {}, {"fastest": 1}, "Nothing was predicted"),
        (None, {"link": 0}, {"link": 1}, "first line"),
        (None, {"one_bit_pays_below": ""}, {"one_bit_pays_below": 2}, "left empty"),
        (None, {"qsgd_pays_below": 1e9}, {"qsgd_pays_below": 2}, "which way"),
        (None, {"did_win": 5}, {"did_win": 1}, "last column"),
        (None, {"fastest": "zip"}, {"fastest": 1}, "smallest time"),
        (None, {"ranks_for_nothing": 4}, {"ranks_for_nothing": 2}, "2 n/m"),
    ],
)  # fmt: skip
def test_wrong_answers_lose_their_own_points(marked, change, answers, lost, why):
    found, missing = marked(change, **answers)
    assert missing == lost
    assert why in next(one.why for one in found.lost)


def test_bits_for_bytes_are_named(measured, marked):
    said = 8 * right(measured)["top_1_pays_below"]
    found, lost = marked(top_1_pays_below=said)
    assert lost == {"top_1_pays_below": 2}
    assert "bits for bytes" in next(one.why for one in found.lost).lower()


def form(**values):
    def change(told):
        told["results"]["forms"]["1 bit"].update(values)

    change.__name__ = ", ".join(values)
    return change


def faster_than_the_wire(told):
    told["results"]["dense"] = [1e-9] * 3


def no_times(told):
    told["results"]["dense"] = []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (faster_than_the_wire, "its bytes alone take longer"),
        (no_times, "there are no times of dense"),
        (form(pack=-1e-3), "must be above 0"),
        (form(message=10**7), "no shorter than dense"),
        (form(way="by magic"), "by magic"),
        (form(seconds=[1.0, "x", 1.0]), "no number"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_have_been_measured_is_refused(marked, change, said):
    with pytest.raises(Mistake, match=said):
        marked(change, honest=False)
