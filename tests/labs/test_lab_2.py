"""Lab 2 on two nodes: bytes to the byte, times by the model, and a learner's own all-reduce."""

import copy
import json

import numpy as np
import pytest

from ddl_class.commands.mistake import Mistake
from ddl_teach.theory.fit import fit

PREDICTED = {"ring": 30, "ring_dealt": 50, "doubling": 60, "leaders": 20,
             "parts": 20, "fastest_of_1_KiB": "doubling"}  # fmt: skip
RANKS, NODES, EACH = 4, 2, 2
OWN = """
import numpy as np

def to_all(comm, x):
    mine, other = x.copy(), np.empty_like(x)
    for rank in range(comm.size):
        if rank == comm.rank:
            for to in range(comm.size):
                if to != rank:
                    comm.send(mine, to)
        else:
            comm.recv(other, rank)
            x += other
"""


@pytest.fixture(scope="module")
def folder(box_of, short_form):
    own = box_of(NODES).folder / "mine.py"
    own.write_text(OWN)
    words = ["--set", f"yours={own}:to_all"]
    return short_form("2_collectives", *words, ranks=RANKS, nodes=NODES, **PREDICTED)


@pytest.fixture(scope="module")
def measured(folder):
    return json.loads((folder / "measured.json").read_text())


@pytest.fixture(scope="module")
def quiet(measured):
    """The same on a machine that nobody disturbs, by parts far ahead of all."""
    quiet = copy.deepcopy(measured)
    for way, latency, per_byte in (("within", 1e-5, 1e-9), ("between", 5e-5, 8.4e-8)):
        pings = quiet["results"][way]
        pings["seconds"] = [latency + size * per_byte for size in pings["bytes"]]
    for row in quiet["results"]["rows"]:
        first = row["way"] == "by parts"
        row["seconds"] = [1e-2 if first else 2e-2] * len(row["seconds"])
    return quiet


def right(measured):
    """What a learner computes by the worksheet."""
    n = max(measured["settings"]["sizes"])
    rows = {row["way"]: row for row in measured["results"]["rows"] if row["bytes"] == n}
    near, far = (
        fit(pings["bytes"], pings["seconds"])
        for pings in (measured["results"]["within"], measured["results"]["between"])
    )
    seconds = {
        "ring": 2 * (RANKS - 1) * (far.latency + n / RANKS * far.per_byte),
        "ring_dealt": 2 * (RANKS - 1) * (far.latency + EACH * n / RANKS * far.per_byte),
        "doubling": near.latency + n * near.per_byte + far.latency + EACH * n * far.per_byte,
        "leaders": 2 * (near.latency + n * near.per_byte)
        + 2 * (NODES - 1) * (far.latency + n / NODES * far.per_byte),
        "parts": 2 * (EACH - 1) * (near.latency + n / EACH * near.per_byte)
        + 2 * (NODES - 1) * (far.latency + n / NODES * far.per_byte),
    }
    answers = {f"model_{name}": 1e3 * time for name, time in seconds.items()}
    ring = 2 * (RANKS - 1) * n // RANKS
    answers |= {"bytes_ring": ring, "bytes_ring_dealt": EACH * ring, "bytes_doubling": EACH * n}
    answers |= dict.fromkeys(("bytes_leaders", "bytes_parts"), 2 * (NODES - 1) * n // NODES)
    answers["headers"] = 100 * (max(rows["ring"]["card"]) / ring - 1)
    answers["bytes_mpi"] = max(rows["MPI's own"]["card"])
    for name, size in (("short", min(measured["settings"]["sizes"])), ("long", n)):
        some = [row for row in measured["results"]["rows"] if row["bytes"] == size]
        answers[f"fastest_{name}"] = min(some, key=lambda row: np.median(row["seconds"]))["way"]
    return answers


def lost(folder, hand_in, answers, measured):
    marked = hand_in(folder, measured, answers)
    assert marked.of == 25
    return {one.name: one.why for one in marked.lost}


def test_ledgers_say_what_crosses_and_right_answers_have_all_points(folder, measured, hand_in):
    rows = [row for row in measured["results"]["rows"] if row["bytes"] == 2**16]
    assert {row["way"] for row in rows} > {"yours", "MPI's own", "leaders, doubling", "by parts"}
    for row in rows:
        # A card counts no less than the ledger; MPI's own messages are in no ledger.
        assert all(np.array(row["card"]) > np.array(row["left"])), row["way"]
        assert (max(row["sent"]) == 0) == (row["way"] == "MPI's own")
    assert lost(folder, hand_in, right(measured), measured) == {}


@pytest.mark.parametrize(
    ("name", "slip", "said"),
    [
        ("bytes_ring", lambda it: it * 4 / 3, "follows from what was measured"),
        ("bytes_doubling", lambda it: it / 2, "Half of it"),
        ("model_ring_dealt", lambda it: it / 2, "50 us and 84.0 ns a byte"),
        ("model_parts", lambda it: it / 1e3, "s for ms"),
        ("model_doubling", lambda it: "", "left empty"),
        ("headers", lambda it: it + 100, "card / ledger - 1"),
        ("bytes_mpi", lambda it: 0, "last column"),
        ("fastest_long", lambda it: "ring", "by parts is right here"),
    ],
    ids=["ring", "half", "shared", "ms", "empty", "percent", "card", "fastest"],
)  # fmt: skip
def test_a_wrong_answer_loses_its_own_points_and_is_told_why(
    folder, quiet, hand_in, name, slip, said
):
    answers = right(quiet)
    wrong = lost(folder, hand_in, answers | {name: slip(answers[name])}, quiet)
    assert list(wrong) == [name]
    assert said in wrong[name]


def test_one_node_is_told_and_a_network_past_the_system_is_no_fault(folder, quiet, hand_in):
    fast = copy.deepcopy(quiet)
    for row in fast["results"]["rows"]:
        row["card"] = [100 for _ in row["card"]]
    answers = right(quiet) | {"headers": "", "bytes_mpi": ""}
    assert lost(folder, hand_in, answers, fast) == {}
    here = copy.deepcopy(quiet)
    here["results"]["between"] = None
    wrong = lost(folder, hand_in, answers, here)
    assert len(wrong) == 12
    assert all("one node" in why for why in wrong.values())


def of(results, way):
    return next(row for row in results["rows"] if row["way"] == way)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda results: of(results, "ring")["sent"].__setitem__(0, 8), r"2 \(P-1\) n bytes"),
        (lambda results: of(results, "doubling")["left"].__setitem__(0, 10**9), "than was sent"),
        (lambda results: of(results, "doubling")["seconds"].pop(), "times for"),
        (lambda results: of(results, "yours")["seconds"].__setitem__(0, 0), "above 0"),
        (lambda results: results["nodes"].append(1), "4 ranks"),
    ],
    ids=["ledger", "left", "one missing", "no time", "one more"],
)  # fmt: skip
def test_what_nothing_can_have_measured_is_refused(folder, quiet, hand_in, change, said):
    forged = copy.deepcopy(quiet)
    change(forged["results"])
    with pytest.raises(Mistake, match=said):
        lost(folder, hand_in, right(quiet), forged)
