"""Marks lab 6: bytes by the formula, times from the learner's own cables, and who kept going."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ddl_class.labs.marking import (
    Contradiction,
    Mark,
    choice,
    number,
    positive,
    predicted,
)
from ddl_teach.theory import servers
from ddl_teach.theory.collectives import ring
from ddl_teach.theory.machine import Link

OUTLIER = 3  # so many times as slow as the median cable
CLOSE = 1.1  # two ways that were accurate within ten percent of each other share the place
FORMULA = "See step 4 of the worksheet; ddl_teach/theory/servers.py has the formulas."
Trainings = Mapping[tuple[str, bool], Mapping[str, Any]]


def mark(measured: Mapping[str, Any], answers: Mapping[str, Any]) -> list[Mark]:
    """The marks, or a Contradiction."""
    found, nodes = measured["results"], measured["ground"]["nodes"]
    trainings = trainings_of(measured)
    _possible(trainings, measured["settings"], found["weights"], len(nodes))
    right = right_answers(measured)
    first = {way: one["to target"] for (way, slow), one in trainings.items()
             if slow and one["to target"] is not None}  # fmt: skip
    marks = [predicted(measured, name) for name in measured["predictions"]]

    def near(name: str, look: str, within: float = 0.1, of: float = 1) -> Mark:
        return number(answers, name, right[name], within=within, of=of, look=look)

    marks.append(near("ingress", FORMULA, 0.01))
    if len(set(nodes)) == len(nodes):
        over = "card_over_ledger"
        # Fast networks pass the system by, and its cards count nothing.
        marks.append(
            Mark(over, 1, 1)
            if right[over] < 1
            else near(over, "Both are in the program's first line.", 0.005)
        )
    marks += [
        near("server_ms", FORMULA, of=2),
        near("ring_ms", "The ring's pace is that of its slowest cable. " + FORMULA, of=2),
        choice(answers, "slow_cable", _slow(found["per byte"]),
               look="The program's last line has the cables."),
        near("kept_formula", "All wait for the slowest gradient, then for the ring: step 4.",
             0.05),
        near("kept_all_reduce", "Divide the line of 5 x by that of 1 x.", 0.03),
        near("kept_nobody_waits", "Divide the line of 5 x by that of 1 x.", 0.03),
        choice(answers, "first",
               [way for way, there in first.items() if there <= CLOSE * min(first.values())]
               or ["none"], look="Of the lines of 5 x, the shortest time to the target."),
        near("workers_for_ten", "W updates in and W out, beside 2 (W-1)/W: when is the ratio 10?",
             0.0, of=2),
    ]  # fmt: skip
    return marks


def right_answers(measured: Mapping[str, Any]) -> dict[str, float]:
    """Each number as it is asked for."""
    found, settings = measured["results"], measured["settings"]
    ranks, nbytes, trainings = (
        len(measured["ground"]["nodes"]), found["weights"], trainings_of(measured),
    )  # fmt: skip
    cables = positive(found["per byte"], "cables")
    [latency] = positive([found["latency"]], "latencies")
    at_server, even = trainings["server", False], ranks - 1
    through = max(even * cables[0], *cables[1:]) * nbytes  # seconds that the narrowest port needs
    around = float(ring(ranks, nbytes, Link(latency, max(cables))))
    steps = [settings["gradient"] * slow + around for slow in (1, settings["times"])]

    def kept(way: str) -> float:
        slow, even = (gradients_a_second(trainings[way, late]) for late in (True, False))
        return slow / even

    return {
        "ingress": servers.server_ingress(even, nbytes) / 1e3,
        "card_over_ledger": at_server["card of rank 0"] / at_server["bytes to rank 0"],
        "server_ms": 1e3 * (2 * latency + 2 * through),
        "ring_ms": 1e3 * around,
        "kept_formula": steps[0] / steps[1],
        "kept_all_reduce": kept("all-reduce"),
        "kept_nobody_waits": kept("server, nobody waits"),
        "workers_for_ten": _workers_for(10),
    }


def trainings_of(measured: Mapping[str, Any]) -> Trainings:
    """By way, and by whether a rank was slow."""
    return {(one["way"], one["slow"] > 1): one for one in measured["results"]["trainings"]}


def _possible(trainings: Trainings, settings: Mapping[str, Any], nbytes: int, ranks: int) -> None:
    """What no run of the program can have written."""
    steps, gradient = settings["steps"], settings["gradient"]
    for (way, _), one in trainings.items():
        workers, name = one["workers"], f"{way}, {one['slow']:g} x"
        if workers + one["servers"] != ranks:
            raise Contradiction(f"{name}: workers and servers are not {ranks} ranks")
        positive([one["seconds"], one["together"], one["gradients"]], name)
        if one["together"] > one["seconds"] or one["gradients"] > workers * steps:
            raise Contradiction(f"{name}: more was done than there was time or work for")
        if one["seconds"] < 0.99 * steps * gradient * one["slow"]:
            raise Contradiction(f"{name}: the slow rank alone computes longer than that")
        if not 0 <= one["accuracy"] <= 1 or (one["to target"] or 0) > one["seconds"]:
            raise Contradiction(f"{name}: an accuracy that cannot be, or after the end")
        sent = one["bytes to rank 0"]
        # Who leaves says so; who waits for nobody pulls once before its first step.
        words = 2 * steps + (2 if way == "server, nobody waits" else 1)
        told = workers * (steps * nbytes + words * servers.REQUEST)
        if one["servers"] == 1 and sent != told:
            raise Contradiction(f"{name}: {sent:,} bytes came to rank 0, the formula has {told:,}")


def gradients_a_second(training: Mapping[str, Any]) -> float:
    """Of all workers, while all were at work."""
    return training["gradients"] / training["together"]


def _slow(cables: Sequence[float]) -> list[str]:
    slow = [str(rank) for rank, each in enumerate(cables) if each > OUTLIER * median(cables)]
    return slow or ["none"]


def _workers_for(ratio: float) -> int:
    workers = 2
    while 2 * workers < ratio * servers.ring_ingress(workers, 1):
        workers += 1
    return workers
