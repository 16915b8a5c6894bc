"""Lab 9 on two nodes: a program beside the house's, marked, and both on the board."""

import copy
import json
from statistics import median

import pytest

from ddl_class.cli import main
from ddl_class.commands.mistake import Mistake
from ddl_class.competition.board import board, page_of

PREDICTED = {"house_seconds": 0.3, "times_faster": 2, "shortened": "seconds"}
OURS = '''
FORM = {"team": "ours", "samples": 16, "settings": {"rate": 0.3}, "trials": []}


def train(comm, make_task, look):
    """Both halves of the minibatch on each rank: nothing is sent."""
    task = make_task(16)
    weights = task.initial()
    for step in range(1000):
        for part in range(comm.size):
            weights -= 0.15 * task.gradient(weights, part, comm.size, step)[1]
        if step % 30 == 29 and look(weights, 16 * comm.size * (step + 1)):
            return
'''


@pytest.fixture(scope="module")
def measured(box_of, short_form):
    ours = box_of(2).folder / "ours.py"
    ours.write_text(OURS)
    race = ("--set", f"program={ours}")
    folder = short_form("9_competition", *race, ranks=2, nodes=2, **PREDICTED)
    told = json.loads((folder / "measured.json").read_text())
    for report in told["results"].values():
        # As if nobody were changing the code at this moment; and at plain times.
        report["made"] |= {"code": "4be0f1a2c3d4", "lock": "as locked"}
    return told


def timed(told, name, seconds, epochs):
    """Give the trainings of "entry" or "house" about these medians."""
    report = told["results"][name]
    near = (0.99, 1.0, 1.01, 0.98, 1.02, 1.0)
    times, passes = ([middle * each for each in near] for middle in (seconds, epochs))
    first, second, *_ = report["entries"][0]["series"]
    first["values"], second["values"] = times, passes
    report["claims"][0]["number"] = median(times)
    kept = [trial for trial in report["trials"] if trial["outcome"] == "kept"]
    for trial, took in zip(kept, times, strict=True):
        trial["seconds"] = took


@pytest.fixture
def raced(measured):
    told = copy.deepcopy(measured)
    timed(told, "entry", 0.5, 6.0)
    timed(told, "house", 1.0, 4.0)
    return told


RIGHT = {
    "seconds": 0.5,
    "times_faster": 2.0,
    "fewer_epochs": 4 / 6,
    "shortened": "seconds",
    "verdict": "faster",
}


def lost(folder, hand_in, told, **answers):
    folder.mkdir(exist_ok=True)
    marked = hand_in(folder, told, RIGHT | answers)
    return {one.name: (one.of - one.points, one.why) for one in marked.lost}  # fmt: skip


def test_an_honest_entry_from_two_nodes_has_all_points(measured, raced, hand_in, tmp_path):
    assert lost(tmp_path, hand_in, raced) == {}
    for name, report in measured["results"].items():
        [machine] = report["machines"].values()
        assert machine["nodes"] == "2, ranks on each: 1, 1"
        assert "Mbit/s" in machine["network"]
        [entry] = report["entries"]
        assert (entry["ranks"], entry["batch"]) == (2, 32)
        assert entry["name"] == {"entry": "ours", "house": "the house"}[name]
        assert len(entry["series"][0]["values"]) == len(report["made"]["seeds"]) == 6


def no_trials(told):
    told["results"]["entry"]["trials"] = []


def other_network(told):
    [machine] = told["results"]["entry"]["machines"].values()
    machine["network"] = "920 Mbit/s at the slowest, latency 20 us, measured"


def other_nodes(told):
    [machine] = told["results"]["entry"]["machines"].values()
    machine["nodes"] = "1"


def the_houses_own(told):
    told["results"]["entry"] = copy.deepcopy(told["results"]["house"])
    timed(told, "entry", 0.5, 6.0)


def never(told):
    told["results"]["entry"]["entries"][0]["series"][0]["values"] = ["never"] * 6


def unpredicted(told):
    told["predictions"]["house_seconds"] = None


@pytest.mark.parametrize(
    ("change", "answers", "names", "said"),
    [
        (no_trials, {}, {"honest"}, "tuning hidden"),
        (other_network, {}, {"honest"}, "its network: 920"),
        (other_nodes, {}, {"honest"}, "its machine's nodes: 1"),
        (the_houses_own, {}, {"own"}, "write one of your own"),
        (unpredicted, {}, {"house_seconds"}, "Nothing was predicted"),
        (never, {}, {"honest", *RIGHT}, "target not reached"),
        (None, {"seconds": 500}, {"seconds"}, "ms for s"),
        (None, {"times_faster": 0.5}, {"times_faster"}, "quotient"),
        (None, {"fewer_epochs": ""}, {"fewer_epochs"}, "left empty"),
        (None, {"shortened": "epochs"}, {"shortened"}, "seconds is right"),
        (None, {"verdict": "surely"}, {"verdict"}, "interval ends"),
    ],
)  # fmt: skip
def test_each_fault_loses_its_own_points(raced, hand_in, tmp_path, change, answers, names, said):
    if change is not None:
        change(raced)
    found = lost(tmp_path, hand_in, raced, **answers)
    assert set(found) == names
    assert any(said in why for _, why in found.values())


def no_report(told):
    told["results"]["house"] = {"times": [1, 2, 3]}


def nobody(told):
    told["results"]["entry"]["entries"] = []


def negative(told):
    told["results"]["entry"]["entries"][0]["series"][0]["values"][2] = -1.0


def more_ranks(told):
    told["ground"]["ranks"] = 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (no_report, "house is no report"),
        (nobody, "no trainings of one team"),
        (negative, "must be above 0"),
        (more_ranks, "other ranks"),
    ],
)
def test_what_cannot_be_is_refused(raced, hand_in, tmp_path, change, said):
    change(raced)
    with pytest.raises(Mistake, match=said):
        lost(tmp_path, hand_in, raced)


def test_folders_of_the_lab_are_entries_and_the_page_names_the_ground(
    raced, hand_in, tmp_path, capsys
):
    house = copy.deepcopy(raced)
    the_houses_own(house)
    timed(house, "entry", 1.0, 4.0)
    other = copy.deepcopy(raced)
    other_nodes(other)
    other["results"]["entry"]["entries"][0]["name"] = "alone"
    for name, told in (("house", house), ("ours", raced), ("alone", other)):
        lost(tmp_path / name, hand_in, told)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "measured.json").write_text("{}")
    found = board(tmp_path)
    assert [(line.place, line.team) for line in found.lines] == [(1, "ours"), (2, "the house")]
    assert [one.file for one in found.refused] == ["alone/measured.json", "broken/measured.json"]
    text = page_of(found)
    assert "Nodes: 2, ranks on each: 1, 1; the network between them: " in text
    assert "2 ranks on" in text
    check = ["competition", "check"]
    assert main([*check, str(tmp_path / "ours" / "measured.json")]) == 0
    assert main([*check, str(tmp_path / "alone" / "measured.json")]) == 1
    assert "its machine's nodes: 1" in capsys.readouterr().out
