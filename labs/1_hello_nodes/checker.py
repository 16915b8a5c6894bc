"""Marks lab 1: fits the learner's own ping-pongs anew, and counts who crosses from node to node.

Tolerances: a latency may be half as much again as ours, a bandwidth a quarter off, or either
inside the 95% interval of our fit; what is counted is exact.
"""

from __future__ import annotations

from typing import Any

from ddl_class.labs.marking import (
    Contradiction,
    Mark,
    messages,
    number,
    predicted,
    ranks_of,
)
from ddl_teach.theory.fit import CostModel, fit

LATENCY, RATE, HALF = 0.5, 0.25, 0.6
MICRO, MEGABITS = 1e6, 8e-6
LEAST = 1e-15  # seconds a byte: where noise hides the slope of short messages
PREDICTIONS = ("node_of_rank_2", "latency_between", "latency_ratio", "rate_between")
ONE_NODE = "All ranks were on one node: start them on two, in a box or by the batch script."
ALONE = "Rank 0 had no neighbour on its node: start more ranks than there are nodes."


def mark(measured: dict[str, Any], answers: dict[str, Any]) -> list[Mark]:
    """Four points for predictions, two for each number of the fits, one for each count."""
    results, settings = measured["results"], measured["settings"]
    ranks_of(measured)
    nodes = results["nodes"]
    marks = [predicted(measured, name) for name in PREDICTIONS]
    for way, missing in (("within", ALONE), ("between", ONE_NODE)):
        marks += line(way, results[way], settings["repetitions"], answers, missing)
    for name, ring in (("ring_filled", sorted(nodes)), ("ring_dealt", deal(nodes))):
        look = f"Your ranks in a ring: {ring}."
        marks.append(number(answers, name, leaving(ring), within=0, look=look))
    return marks


def line(
    way: str, pings: dict[str, Any] | None, repetitions: int, answers: dict, missing: str
) -> list[Mark]:
    """The numbers of one fit."""
    latency, rate, half = f"latency_{way}", f"rate_{way}", f"half_{way}"
    asked = [latency, rate] + ([half] if way == "between" else [])
    if pings is None:
        return [Mark(name, 0, 2, missing) for name in asked]
    model = refit(way, pings, repetitions)
    per_byte = max(model.per_byte, LEAST)
    look = "Give fit() all messages of that way, and compare its line with the printed table."
    edges = tuple(MICRO * edge for edge in model.latency_interval)
    right = MICRO * model.latency
    marks = [number(answers, latency, right, within=LATENCY, of=2, look=look, also=edges)]
    edges = tuple(MEGABITS / max(edge, LEAST) for edge in model.per_byte_interval[::-1])
    right = MEGABITS / per_byte
    marks.append(number(answers, rate, right, within=RATE, of=2, look=look, also=edges))
    if way == "between":
        look = "It is latency / per_byte, both in seconds."
        edges = tuple(edge / per_byte for edge in model.latency_interval)
        right = model.latency / per_byte
        marks.append(number(answers, half, right, within=HALF, of=2, look=look, also=edges))
    return marks


def refit(way: str, pings: dict[str, Any], repetitions: int) -> CostModel:
    """Our fit, of numbers that can be."""
    sizes, seconds = messages(pings, way)
    if len(sizes) != repetitions * len(set(sizes)):
        raise Contradiction(f"{way}: {len(sizes)} messages in {repetitions} repetitions")
    return fit(sizes, seconds)


def deal(nodes: list[int]) -> list[int]:
    """The same places on the same nodes, dealt out in turns."""
    turns = [(sorted(nodes)[:place].count(node), node) for place, node in enumerate(sorted(nodes))]
    return [node for _, node in sorted(turns)]


def leaving(nodes: list[int]) -> int:
    """How many ranks have the next rank on another node."""
    return sum(node != nodes[place - 1] for place, node in enumerate(nodes))
