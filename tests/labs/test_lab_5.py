"""Lab 5 on four nodes: rankings are compared with their intervals, and bytes to the byte."""

import copy
import json

import pytest

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import import_file
from ddl_class.labs import command
from ddl_measure.interval import interval
from ddl_teach import simulate
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.layers import transformer
from ddl_teach.theory.grids.search import in_order
from ddl_teach.theory.machine import Cluster, Link

PREDICTED = {"best": "pipeline 2 x data 2", "worst": "tensor 4", "ratio": 4}
NOISE = (0.99, 1.01)
SLOW = Cluster(4, 1, between=Link(1e-4, 2e-7), flops=2e9)


@pytest.fixture(scope="module")
def folder(short_form):
    return short_form("5_grids", ranks=4, nodes=4, **PREDICTED)


@pytest.fixture(scope="module")
def measured(folder):
    return json.loads((folder / "measured.json").read_text())


def order(measured, cluster=SLOW):
    settings = measured["settings"]
    names = ("blocks", "width", "heads", "length")
    network = transformer(**{name: settings[name] for name in names}, vocabulary=100)
    split = {name: settings[name] for name in ("batch", "micro_batches")}
    return network, in_order(network, cluster, **split)


@pytest.fixture(scope="module")
def quiet(measured):
    """The same on a cluster that keeps to the model, but for a grid that is twice as slow."""
    found = copy.deepcopy(measured)
    network, choices = order(found)
    results = found["results"]
    results["alone"] = [3 * found["settings"]["batch"] / 4 * network.work / SLOW.flops] * 2
    between = results["pings"]["between"]
    latency, per_byte = SLOW.between.latency, SLOW.between.per_byte
    between["seconds"] = [latency + n * per_byte for n in between["bytes"]]
    seconds = {str(one.grid): one.seconds.total for one in choices}
    second = str(choices[1].grid)
    for row in results["grids"]:
        name = str(Grid(**row["grid"]))
        row["seconds"] = [seconds[name] * (1 + (name == second)) * factor for factor in NOISE]
    return found


def right(found):
    """By the model, and by the clock of `quiet`: the model's second is slower than some others."""
    _, choices = order(found)
    totals = {str(one.grid): one.seconds.total for one in choices}
    [*names], second = totals, str(choices[1].grid)
    clock = totals | {second: 2 * totals[second]}
    best, worst = names[0], names[-1]
    passed = next(name for name in names[2:] if clock[name] < 0.98 * clock[second])
    return {
        "model_best": best,
        "model_ratio": totals[worst] / totals[best],
        "price": choices[-1].seconds.largest_price,
        "measured_best": best,
        "measured_ratio": max(clock.values()) / clock[best],
        "tied": sum(clock[name] * NOISE[0] <= clock[best] * NOISE[1] for name in names),
        "sent": 1.5 * 4 * order(found)[0].weights / 1e6,
        "wrong": f"{passed}, {second}",
    }


def lost(folder, hand_in, answers, measured):
    marked = hand_in(folder, measured, answers)
    assert marked.of == 14
    return {one.name: one.why for one in marked.lost}


@pytest.mark.long
def test_every_grid_of_four_ranks_is_measured_and_can_be_marked(folder, measured, hand_in):
    results = measured["results"]
    assert measured["ground"]["nodes"] == [f"node{number}" for number in range(4)]
    assert len(results["grids"]) == 10
    assert results["refused"] == {}
    assert results["pings"]["within"] is None
    wrong = lost(folder, hand_in, {}, measured)
    assert not {"best", "worst", "ratio"} & wrong.keys()
    assert all("left empty" in why for why in wrong.values())


def test_asleep_on_simulated_ranks_every_grid_takes_what_the_model_says():
    """The formula lets all stages be as slow as the slowest; without a pipeline it is exact."""
    program = import_file(command.lab_folder("5") / "program.py")
    settings = program.LAB.full | {"accelerator": SLOW.flops, "repetitions": 2}
    run = simulate(program.grids, 4, network=SLOW.between.network, trace=False, **settings)
    clock = {Grid(**row["grid"]): interval(row["seconds"])[0] for row in run.results[0]["grids"]}
    _, choices = order({"settings": settings})
    assert min(clock, key=clock.get) == choices[0].grid
    for one in choices:
        slack = 0.01 if one.grid.pipeline == 1 else 0.1
        assert clock[one.grid] == pytest.approx(one.seconds.total, rel=slack), one.grid


@pytest.mark.long
def test_right_answers_have_all_points_and_a_pair_in_order_none(folder, quiet, hand_in):
    answers = right(quiet)
    assert lost(folder, hand_in, answers, quiet) == {}
    in_order = f"{answers['model_best']}, {order(quiet)[1][-1].grid}"
    [why] = lost(folder, hand_in, answers | {"wrong": in_order}, quiet).values()
    assert "in the clock's order" in why


def test_what_the_clock_does_not_tell_apart_is_not_asked(folder, quiet, hand_in):
    """All intervals overlap: any grid is the best, all are tied, and the model is never wrong."""
    blurred = copy.deepcopy(quiet)
    for row in blurred["results"]["grids"]:
        row["seconds"] = [0.5, 1000.0]
    answers = right(quiet) | {
        "measured_best": "context=4", "measured_ratio": 1, "tied": 10, "wrong": "none",
    }  # fmt: skip
    assert lost(folder, hand_in, answers, blurred) == {}
    said = lost(folder, hand_in, answers | {"wrong": "data 4, tensor 4"}, blurred)
    assert "overlap" in said["wrong"]


@pytest.mark.parametrize(
    ("name", "slip", "said"),
    [
        ("model_best", "tensor 4", "right here"),
        ("model_ratio", 1.0, "model.py prints"),
        ("price", "latency", "Read the row of"),
        ("measured_best", "", "left empty"),
        ("measured_ratio", -3, "was said"),
        ("tied", 9, "Count intervals"),
        ("sent", 1e4, "was said"),
        ("wrong", "none", "pairs that the clock tells apart"),
        ("wrong", "data 4", "not two of the grids"),
        ("measured_best", f"data {'9' * 5000}", "right here"),
    ],
    ids=["best", "one", "price", "empty", "negative", "tied", "kilobytes", "none", "one grid",
         "endless"],
)  # fmt: skip
def test_a_wrong_answer_loses_its_own_points_and_is_told_why(
    folder, quiet, hand_in, name, slip, said
):
    wrong = lost(folder, hand_in, right(quiet) | {name: slip}, quiet)
    assert list(wrong) == [name]
    assert said in wrong[name]


def test_a_grid_that_is_none_is_no_prediction(folder, quiet, hand_in):
    other = copy.deepcopy(quiet)
    other["predictions"] = {"best": "data 8", "worst": "all of them", "ratio": None}
    assert set(lost(folder, hand_in, right(quiet), other)) == {"best", "worst", "ratio"}


def faster_than_its_bytes(results):
    results["grids"][-1]["seconds"] = [1e-6, 1e-6]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (faster_than_its_bytes, "its bytes alone need"),
        (lambda results: results["grids"].pop(), "can be"),
        (lambda results: results["grids"][0]["seconds"].pop(), "for 2 rep"),
        (lambda results: results["grids"][2]["sent"].update(data=7), "and not"),
        (lambda results: results["alone"].append(-1.0), "above 0"),
        (lambda results: results.update(nodes=[0, 1]), "2 names of nodes"),
        (lambda results: results["pings"]["between"]["bytes"].__setitem__(0, 0), "above 0"),
        (lambda results: results.pop("pings"), "is not as"),
    ],
    ids=["too fast", "a grid", "a step", "bytes", "alone", "nodes", "no ball", "no pings"],
)
def test_what_nothing_can_have_measured_is_refused(folder, quiet, hand_in, change, said):
    forged = copy.deepcopy(quiet)
    change(forged["results"])
    with pytest.raises(Mistake, match=said):
        lost(folder, hand_in, right(quiet), forged)
