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
    found, settings, nodes = measured["results"], measured["settings"], measured["ground"]["nodes"]
    ranks, nbytes = len(nodes), found["weights"]
    trainings = {(one["way"], one["slow"] > 1): one for one in found["trainings"]}
    cables = positive(found["per byte"], "cables")
    [latency] = positive([found["latency"]], "latencies")
    apart = len(set(nodes)) == ranks
    _possible(trainings, settings, nbytes, ranks)

    at_server, even = trainings["server", False], ranks - 1
    through = max(even * cables[0], *cables[1:]) * nbytes  # seconds that the narrowest port needs
    kept = {way: gradients_a_second(trainings[way, True]) / gradients_a_second(one)
            for (way, slow), one in trainings.items() if not slow}  # fmt: skip
    first = {way: one["to target"] for (way, slow), one in trainings.items()
             if slow and one["to target"] is not None}  # fmt: skip
    around = ring(ranks, nbytes, Link(latency, max(cables)))
    steps = [settings["gradient"] * slow + around for slow in (1, settings["times"])]
    marks = [predicted(measured, name) for name in measured["predictions"]]
    marks.append(number(answers, "ingress", servers.server_ingress(even, nbytes) / 1e3,
                        within=0.01, look=FORMULA))  # fmt: skip
    over = at_server["card of rank 0"] / at_server["bytes to rank 0"]
    if apart and over < 1:  # fast networks pass the system by, and its cards count nothing
        marks.append(Mark("card_over_ledger", 1, 1))
    elif apart:
        marks.append(number(answers, "card_over_ledger", over, within=0.005,
                            look="Both are in the program's first line."))  # fmt: skip
    marks += [
        number(answers, "server_ms", 1e3 * (2 * latency + 2 * through), of=2, look=FORMULA),
        number(answers, "ring_ms", 1e3 * around, of=2,
               look="The ring's pace is that of its slowest cable. " + FORMULA),
        choice(answers, "slow_cable", _slow(cables),
               look="The program's last line has the cables."),
        number(answers, "kept_formula", steps[0] / steps[1], within=0.05,
               look="All wait for the slowest gradient, then for the ring: step 4."),
        number(answers, "kept_all_reduce", kept["all-reduce"], within=0.03,
               look="Divide the line of 5 x by that of 1 x."),
        number(answers, "kept_nobody_waits", kept["server, nobody waits"], within=0.03,
               look="Divide the line of 5 x by that of 1 x."),
        choice(answers, "first",
               [way for way, there in first.items() if there <= CLOSE * min(first.values())]
               or ["none"], look="Of the lines of 5 x, the shortest time to the target."),
        number(answers, "workers_for_ten", _workers_for(10), within=0.0, of=2,
               look="W updates in and W out, beside 2 (W-1)/W: when is the ratio 10?"),
    ]  # fmt: skip
    return marks


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
