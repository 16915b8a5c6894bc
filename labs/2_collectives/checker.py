"""Marks lab 2: what algorithms send by the ledger, what they take by the model, who was fastest.

The model has the learner's own two lines, within a node and between; where R ranks of a node send
at the same time, a byte takes R times as long. Bytes are exact, times of the model may be a
seventh off, and whoever's interval overlaps the fastest's may be called fastest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddl_class.labs.marking import (
    Contradiction,
    Mark,
    choice,
    messages,
    number,
    predicted,
    ranks_of,
    repeated,
)
from ddl_measure.interval import interval
from ddl_teach.theory.collectives import leaders, ring
from ddl_teach.theory.fit import fit
from ddl_teach.theory.machine import Cluster, Link
from ddl_teach.theory.many_nodes import by_parts, dealt_ring, one_ring, swapping

MODEL = 0.15
FEW = 100  # resamples: only the line is asked for, not its intervals
SOONEST = 0.1  # of the time that the faster of both links needs for what a rank sends
PREDICTIONS = ("ring", "ring_dealt", "doubling", "leaders", "parts", "fastest_of_1_KiB")
WAYS = {
    "ring": "ring",
    "ring_dealt": "ring, dealt out",
    "doubling": "doubling",
    "leaders": "leaders",
    "parts": "by parts",
}
ONE_NODE = "All ranks were on one node: start them on several, in a box or by the batch script."


def mark(measured: dict[str, Any], answers: dict[str, Any]) -> list[Mark]:
    """A point for each prediction, count and winner, two for each time by the model."""
    results = measured["results"]
    inside, between = (link(results[way], way) for way in ("within", "between"))
    rows = {(row["way"], row["bytes"]): row for row in results["rows"]}
    short, long = (edge(measured["settings"]["sizes"]) for edge in (min, max))
    sound(measured, rows, [one for one in (inside, between) if one])
    marks = [predicted(measured, name) for name in PREDICTIONS]
    if between is None:
        asked = {f"bytes_{name}": 1 for name in WAYS} | {f"model_{name}": 2 for name in WAYS}
        asked |= {"headers": 1, "bytes_mpi": 1}
        marks += [Mark(name, 0, of, ONE_NODE) for name, of in asked.items()]
    else:
        for name, way in WAYS.items():
            look = "The formula is in the worksheet, and the ledger's number in the table."
            sent = max(rows[way, long]["left"])
            marks.append(number(answers, f"bytes_{name}", sent, within=0, look=look))
        model = times(results["nodes"], long, inside or Link(0.0, 0.0), between)
        for name, (low, high) in model.items():
            look = f"{between.latency * 1e6:.0f} us and {between.per_byte * 1e9:.1f} ns a byte."
            look = f"Between nodes it takes {look}"
            how = {"within": MODEL, "of": 2, "look": look, "also": (1e3 * low, 1e3 * high)}
            marks.append(number(answers, f"model_{name}", 1e3 * high, **how))
        marks += cards(rows, long, answers)
    for name, nbytes in (("fastest_short", short), ("fastest_long", long)):
        look = f"Compare medians and their intervals at {nbytes} bytes."
        marks.append(choice(answers, name, winners(rows, nbytes), look=look))
    return marks


def link(pings: dict[str, Any] | None, way: str) -> Link | None:
    """Latency and seconds a byte of these ping-pongs."""
    if pings is None:
        return None
    return fit(*messages(pings, way), resamples=FEW).link


def times(
    nodes: list[int], nbytes: int, inside: Link, between: Link
) -> dict[str, tuple[float, float]]:
    """Seconds from one to the other by the model, of what has one for such ranks and nodes."""
    ranks, count = len(nodes), len(set(nodes))
    each = -(-ranks // count)  # the fullest node's cable decides
    known = Cluster(count, each, 1, inside, between), nbytes
    found = {
        # In step, as the worksheet has it; and as rings really go, where nodes are equally full.
        "ring": (one_ring(*known), ring(ranks, nbytes, between)),
        "ring_dealt": (dealt_ring(*known),) * 2,
        "doubling": (swapping(*known),) * 2,
        "leaders": (leaders(*known),) * 2,
        "parts": (by_parts(*known),) * 2,
    }
    if each * count != ranks or count & (count - 1) or each & (each - 1):
        del found["doubling"]
    return found


def cards(rows: dict, nbytes: int, answers: dict[str, Any]) -> list[Mark]:
    """What only the cards of the nodes have counted."""
    row = rows["ring", nbytes]
    above = 100 * (max(row["card"]) / max(row["left"]) - 1)
    if above < 0:  # fast networks pass the system by, and its cards count nothing
        return [Mark("headers", 1, 1), Mark("bytes_mpi", 1, 1)]
    look = "100 (card / ledger - 1), both of the line 'ring' at the large size."
    near = above - 1, above + 1
    native = max(rows["MPI's own", nbytes]["card"])
    return [
        number(answers, "headers", above, within=0.1, also=near, look=look),
        number(answers, "bytes_mpi", native, within=0.05, look="The last column has it."),
    ]


def winners(rows: dict, nbytes: int) -> list[str]:
    """The fastest, and who cannot be told from it."""
    found = {way: interval(row["seconds"]) for (way, size), row in rows.items() if size == nbytes}
    best = min(found, key=lambda way: found[way][0])
    return [best, *(way for way in found if way != best and found[way][1] <= found[best][2])]


def sound(measured: dict[str, Any], rows: dict, links: list[Link]) -> None:
    """Refuse what cannot have been measured."""
    ranks, repetitions = ranks_of(measured), measured["settings"]["repetitions"]
    for (way, nbytes), row in rows.items():
        what = f"'{way}' at {nbytes} bytes"
        repeated(row["seconds"], repetitions, what)
        sent, left = np.array(row["sent"]), np.array(row["left"])
        if way.startswith("ring") and sent.sum() != 2 * (ranks - 1) * nbytes:
            raise Contradiction(
                f"{what}: all ranks together send 2 (P-1) n bytes, not {sum(sent)}"
            )
        if left.sum() > sent.sum():
            raise Contradiction(f"{what}: more has left the nodes than was sent")
        fastest = min((one.per_byte for one in links), default=0.0)
        if min(row["seconds"]) < SOONEST * fastest * sent.max():
            raise Contradiction(
                f"{what}: its messages go at {1 / SOONEST:.0f} times the fit's pace"
            )
