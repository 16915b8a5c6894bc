"""A puzzle: what the house calls the best known it can show, and a learner's best is kept."""

import csv
import re
from pathlib import Path

import best_known_01_to_07
import best_known_08
import best_known_09
import best_known_11_to_13
import best_known_14_to_16
import best_known_17_to_20
import best_known_21
import best_known_22_ranks
import best_known_23
import best_known_24_internet
import best_known_25
import best_known_26
import exercise_sources as sources
import numpy as np
import pytest

from ddl_class.exercises.check import check, verdict
from ddl_class.exercises.kit.holds import most_at_once
from ddl_class.exercises.registry import find_exercise
from ddl_class.exercises.stages import SimulatedStage
from ddl_teach.comm import split_evenly

pytestmark = pytest.mark.usefixtures("fresh_record")


def best_schedule(ranks, micro_batches):
    """With eight micro-batches what a search found: the turns of the solution, played again and
    again with other preferences, each change kept that made nothing slower."""
    if micro_batches != 8:
        return solved("10.schedule")(ranks, micro_batches)
    path = Path(__file__).with_name("best_known_10.csv")
    return list(csv.reader(path.read_text().splitlines()))


def best_list(comm, x):
    """Two steps, with three messages at once in each. A search through all ways in which all ranks
    do the same found no faster one with up to five messages; with six it was not ended."""
    for stride in (1, 4):
        shifts = [stride, 2 * stride, 3 * stride]
        arriving = [np.empty_like(x) for _ in shifts]
        origins = [(comm.rank - shift) % comm.size for shift in shifts]
        receives = list(map(comm.irecv, arriving, origins))
        sends = [comm.isend(x, (comm.rank + shift) % comm.size) for shift in shifts]
        for request in receives + sends:
            request.wait()
        np.max([x, *arriving], axis=0, out=x)


# Where the best broadcast cuts 2^17 numbers: a search began with equal pieces and short last ones,
# and kept each change that was faster.
CUTS = (
    4450, 9258, 14065, 18272, 23835, 28041, 34051, 40060, 46069, 52079, 58088, 64097, 70107, 76116,
    82125, 88135, 94144, 100153, 106163, 112172, 118181, 124191, 129269,
)  # fmt: skip


def best_broadcast(comm, x):
    """The solution, but with the receives begun at once, and in the best pieces."""
    place = comm.rank % 4  # in its node
    above = comm.rank - place if place else comm.rank - 4
    below = [] if place else [comm.rank + step for step in (4, 1, 2, 3)]
    pieces = np.split(x, [cut * len(x) // 2**17 for cut in CUTS])
    receives = [comm.irecv(piece, above) for piece in pieces] if comm.rank else []
    for number, piece in enumerate(pieces):
        if receives:
            receives[number].wait()
        sends = [comm.isend(piece, rank) for rank in below if rank < comm.size]
        for send in sends:
            send.wait()


def best_of_nodes(comm, x):
    """By parts, as the solution, in two halves: the second begins three steps after the first."""
    waiting, under_way, turn = [_by_parts(comm, half) for half in split_evenly(x, 2)], [], 0
    while waiting or under_way:
        if waiting and turn % 3 == 0:
            under_way.append(waiting.pop(0))
        turn += 1
        begun = [(half, next(half, None)) for half in under_way]
        for _, requests in begun:
            for request in requests or ():
                request.wait()
        under_way = [half for half, requests in begun if requests]


def _by_parts(comm, x):
    """The requests of each step of an all-reduce by parts: they are waited for outside."""
    node, place = divmod(comm.rank, 4)
    inside = [4 * node + other for other in range(4)]
    across = [4 * other + place for other in range(4)]
    quarter = split_evenly(x, 4)[place]
    for ranks, part, adds in (
        (inside, x, True), (across, quarter, True), (across, quarter, False), (inside, x, False),
    ):  # fmt: skip
        own = ranks.index(comm.rank)
        right, left = ranks[(own + 1) % 4], ranks[own - 1]
        chunks = split_evenly(part, 4)
        for step in range(3):
            outgoing, incoming = (own - step - adds) % 4, (own - step - 1 - adds) % 4
            into = np.empty_like(chunks[incoming]) if adds else chunks[incoming]
            yield comm.irecv(into, left), comm.isend(chunks[outgoing], right)
            if adds:
                chunks[incoming] += into


BEST = {
    "00.list": best_list,
    "05.broadcast": best_broadcast,
    "06.nodes": best_of_nodes,
    "08.order": lambda *_: best_known_08.BEST,
    "09.place": lambda *_: best_known_09.BEST,
    "10.schedule": best_schedule,
    "11.plan": best_known_11_to_13.memory_plan,
    "12.plan": best_known_11_to_13.plan_of_a_grid,
    "13.schedule": best_known_11_to_13.schedule,
    **best_known_01_to_07.BEST,
    **best_known_14_to_16.BEST,
    **best_known_17_to_20.BEST,
    **best_known_21.BEST,
    **best_known_23.BEST,
    **best_known_25.BEST,
    **best_known_24_internet.BEST,
    **best_known_26.BEST,
    **best_known_22_ranks.BEST,
}


def solved(name):
    return sources.function(sources.source_of(name), name)


def noted(name, answer):
    notes = {}
    stage, dice = SimulatedStage(answer, seconds=300.0), np.random.default_rng(1)
    assert verdict(find_exercise(name), stage, dice, (), notes.__setitem__) is None
    return notes


def reached(name, answer):
    return next(iter(noted(name, answer)))


HOLDS = {  # of the solution: what its ranks hold, or why there is nothing to count
    "00.list": r"most memory in messages under way: \d+ B at once",
    "01.schedule": r"At most \d+ results wait at once",
    "02.program": r"At most \d+ values are kept at once",
    "03.streams": r"hold at most 1[0-6]\.\d MiB of the 16 MiB",
    "04.blocks": r"Rank \d holds the most: the states of (9[6-9]|1\d\d) of the 384 cells",
    "05.broadcast": r"most memory in messages under way: [\d.]+ [KM]iB at once",
    "06.nodes": r"most memory in messages under way: [\d.]+ [KM]iB at once",
    "07.exchange": r"most memory in messages under way: [\d.]+ [KM]iB at once",
    "08.order": r"Buckets that are full hold at most \d\d MB at once, and all gradients are 68 MB",
    "09.place": r"at most 3 experts, with room for 3, and computes at most \d+ rows",
    "10.schedule": r"keeps the most: (2\.5|3) of the 3 micro-batches",
    "11.plan": r"holds at most \d+\.\d\d GB, \d+ ms after its beginning, and has \d+ GB",
    "12.plan": r"holds \d+\.\d\d GiB, \d+\.\d\d of them activations, and has \d+\.\d\d",
    "13.schedule": r"batch is [\d,]+: a rank then holds the activations of [\d,]+ samples",
    "14.plan": "same memory",
    "15.spares": r"most memory in messages under way: [\d.]+ [KM]iB at once",
    "16.link": "same memory",
    "17.race": "not counted",
    "18.runs": "plays no part",
    "19.cases": r"memory, too: \d+ bytes",
    "20.cable": r"most memory in messages under way: [\d.]+ [KM]iB at once",
    "21.layout": r"holds the most: (8|9|10|11|12) chunks, and there is room for 12",
    "22.bits": r"a rank receives at most [\d.]+ KiB",
    "23.network": "same memory",
    "24.plan": "hardly differs",
    "25.plan": r"holds \d+\.\d GB, and has 80 GB",
    "26.serve": r"keys of at most [\d,]+ tokens, with room for [\d,]+",
}


@pytest.mark.parametrize("name", BEST)
def test_an_answer_s_memory_stands_beside_its_time(name):
    [(_, text)] = noted(name, solved(name)).items()
    assert re.search(HOLDS[name], text)


@pytest.mark.parametrize(
    ("held", "most"),
    [
        ([], 0),
        ([(0, 2, 5), (1, 3, 7)], 12),
        ([(0, 2, 5), (2, 3, 7)], 7),  # what ends has made room
        ([(1, 1, 9)], 0),  # nothing is held for no time
    ],
)
def test_what_is_held_at_once_is_counted(held, most):
    assert most_at_once(held) == most


@pytest.mark.parametrize("name", BEST)
def test_the_best_known_is_reached_and_is_better_than_the_solution(name):
    best = reached(name, BEST[name])
    assert best == pytest.approx(find_exercise(name).best_known, rel=1e-5)
    assert best < reached(name, solved(name))


def test_the_best_is_kept_and_stands_beside_the_best_known(capsys, monkeypatch):
    monkeypatch.setattr("ddl_class.exercises.check.maker", lambda *_: None)  # no cell of these
    solution = solved("10.schedule")
    for answer, took, kept in ((solution, 27, 27), (best_schedule, 26.5, 26.5)):
        check("10.schedule", answer)
        says = f"Yours takes {took:g} s, your best so far {kept:g} s, the best known 26.5 s."
        assert f"{says} Rank " in capsys.readouterr().out
    check("10.schedule", solution)
    assert "Yours takes 27 s, your best so far 26.5 s" in capsys.readouterr().out
