"""Lab 6 on four nodes: bytes are the formula's, and a wrong answer loses its own points."""

import copy
import json

import pytest

from ddl_class.commands.mistake import Mistake

PREDICTED = {"ingress": 14.6, "server_over_ring": 3, "least_hurt": "gossip, nobody waits"}


@pytest.fixture(scope="module")
def measured(short_form):
    folder = short_form("6_servers", ranks=4, nodes=4, **PREDICTED)
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


def trainings(told):
    return {(one["way"], one["slow"] > 1): one for one in told["results"]["trainings"]}


def right(told):
    """Computed once more, by what the worksheet says."""
    results, all_of_them = told["results"], trainings(told)
    n, cables, latency = results["weights"], results["per byte"], results["latency"]
    server = all_of_them["server", False]

    ring = 6 * (latency + n / 4 * max(cables))
    pause = told["settings"]["gradient"]

    def kept(way):
        slow, even = all_of_them[way, True], all_of_them[way, False]
        return slow["gradients"] / slow["together"] / (even["gradients"] / even["together"])

    arrived = {way: one["to target"] for (way, slow), one in all_of_them.items()
               if slow and one["to target"] is not None}  # fmt: skip
    slow = [
        str(rank) for rank, each in enumerate(cables) if each > 3 * sum(sorted(cables)[1:3]) / 2
    ]
    return {
        "ingress": 3 * (n + 48) / 1e3,
        "card_over_ledger": server["card of rank 0"] / server["bytes to rank 0"],
        "server_ms": 1e3 * (2 * latency + 2 * n * max(3 * cables[0], *cables[1:])),
        "ring_ms": 1e3 * ring,
        "kept_formula": (pause + ring) / (told["settings"]["times"] * pause + ring),
        "slow_cable": (slow or ["none"])[0],
        "kept_all_reduce": kept("all-reduce"),
        "kept_nobody_waits": kept("server, nobody waits"),
        "first": min(arrived, key=arrived.get, default="none"),
        "workers_for_ten": 9,
    }


@pytest.mark.long
def test_six_ways_on_four_nodes_and_right_answers(measured, marked):
    found, lost = marked()
    assert lost == {}
    assert (found.points, found.short) == (16, True)
    assert len(measured["ground"]["nodes"]) == len(set(measured["ground"]["nodes"])) == 4
    all_of_them = trainings(measured)
    assert len(all_of_them) == 12
    steps, n = measured["settings"]["steps"], measured["results"]["weights"]
    for slow in (False, True):
        came = {way: one["bytes to rank 0"] for (way, when), one in all_of_them.items()
                if when == slow}  # fmt: skip
        assert came["server"] == 3 * (steps * (n + 48) + 24)
        assert came["two shards"] == 2 * (steps * (n // 2 + 48) + 24)
        assert came["all-reduce"] == steps * n * 3 // 2
        assert came["gossip"] == 2 * (steps + 1) * n
    # A slow rank that all wait for: nobody can be faster than it computes.
    pause = measured["settings"]["gradient"] * measured["settings"]["times"]
    assert all_of_them["all-reduce", True]["together"] >= (steps - 1) * pause


def good_cables(told):
    told["results"] |= {"per byte": [8e-8] * 4, "latency": 5e-5}


def slow_cable(told):
    good_cables(told)
    told["results"]["per byte"][2] = 8e-7


def test_a_slow_cable_changes_what_is_right(measured, marked):
    found, lost = marked(slow_cable, slow_cable="2")
    assert lost == {}
    assert found.points == 16
    good = copy.deepcopy(measured)
    good_cables(good)
    wrong = {name: right(good)[name] for name in ("server_ms", "ring_ms", "slow_cable")}
    assert marked(slow_cable, **wrong)[1] == {"server_ms": 2, "ring_ms": 2, "slow_cable": 1}


def unpredicted(told):
    told["predictions"]["server_over_ring"] = None


def worse_than_nothing(told):
    told["predictions"]["ingress"] = -3.0


@pytest.mark.parametrize(
    ("change", "answers", "lost", "why"),
    [
        (unpredicted, {}, {"server_over_ring": 1}, "Nothing was predicted"),
        (worse_than_nothing, {}, {"ingress": 1}, "which nothing can be"),
        (None, {"ingress": 4 * 4.888}, {"ingress": 1}, "worksheet"),
        (None, {"ring_ms": ""}, {"ring_ms": 2}, "left empty"),
        (None, {"workers_for_ten": 10}, {"workers_for_ten": 2}, "when is the ratio 10"),
        (None, {"slow_cable": "7"}, {"slow_cable": 1}, "is right here"),
        (None, {"kept_all_reduce": 5}, {"kept_all_reduce": 1}, "Divide"),
        (None, {"kept_formula": 1.2}, {"kept_formula": 1}, "slowest gradient"),
        (None, {"first": "the fastest"}, {"first": 1}, "shortest time"),
        (None, {"card_over_ledger": 0.9}, {"card_over_ledger": 1}, "first line"),
    ],
)  # fmt: skip
def test_wrong_answers_lose_their_own_points(marked, change, answers, lost, why):
    found, missing = marked(change, **answers)
    assert missing == lost
    assert why in next(one.why for one in found.lost)


def one(way, **values):
    def change(told):
        trainings(told)[way, True].update(values)

    change.__name__ = f"{way}: {', '.join(values)}"
    return change


def negative_cable(told):
    told["results"]["per byte"][1] = -8e-8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (negative_cable, "must be above 0"),
        (one("server", **{"bytes to rank 0": 9}), "the formula has"),
        (one("all-reduce", seconds=1e-3, together=1e-3), "computes longer than that"),
        (one("all-reduce", gradients=1000), "more was done"),
        (one("two shards", workers=3), "not 4 ranks"),
        (one("gossip", accuracy=1.2), "an accuracy that cannot be"),
        (one("server", together="soon"), "no number"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_have_been_measured_is_refused(marked, change, said):
    with pytest.raises(Mistake, match=said):
        marked(change, honest=False)


def test_ranks_of_one_node_have_no_card_to_speak_of(measured, marked):
    def together(told):
        told["ground"]["nodes"] = ["here"] * 4
        for training in told["results"]["trainings"]:
            training["card of rank 0"] = 0

    found, lost = marked(together, card_over_ledger="")
    assert (found.points, found.of, lost) == (15, 15, {})


def test_a_card_that_a_fast_network_passes_by_is_not_asked_about(marked):
    def passed_by(told):
        for training in told["results"]["trainings"]:
            training["card of rank 0"] = 9

    found, lost = marked(passed_by, card_over_ledger="")
    assert (found.points, found.of, lost) == (16, 16, {})
