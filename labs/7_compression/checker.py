"""Marks lab 7: break-even bandwidths from the learner's own packing, and what really won."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
from ddl_teach.theory import compression

CLOSE = 1.05  # times within five percent of each other are not told apart
WIRE = 0.5  # of the time that the bytes alone take: cables are measured on busy machines too
FORMULA = "Step 3 of the worksheet has the formula; mind which way the form goes."


def mark(measured: Mapping[str, Any], answers: Mapping[str, Any]) -> list[Mark]:
    """The marks, or a Contradiction."""
    found, numbers = measured["results"], measured["settings"]["numbers"]
    nodes, forms = measured["ground"]["nodes"], found["forms"]
    [per_byte] = positive([found["per byte"]], "cables")
    rate, dense = 1 / per_byte, compression.dense(len(nodes), 4 * numbers)
    ways = {name: cost_of(len(nodes), name, form, numbers) for name, form in forms.items()}
    even = {name: compression.break_even(dense, way) for name, way in ways.items()}
    took = {"dense": _median("dense", found["dense"])}
    took |= {name: _median(name, form["seconds"]) for name, form in forms.items()}
    if found["injected"] or len(set(nodes)) == len(nodes):
        for name, seconds in took.items():
            if seconds < WIRE * ways.get(name, dense).bytes * per_byte:
                raise Contradiction(f"{name}: its bytes alone take longer on these cables")

    should = [sum(rate * factor < each for each in even.values()) for factor in (1.2, 1, 0.83)]
    did = [sum(factor * took[name] < took["dense"] for name in forms)
           for factor in (CLOSE, 1, 1 / CLOSE)]  # fmt: skip
    nothing = math.ceil(8 * numbers / forms["top 1%"]["message"])
    return [
        *(predicted(measured, name) for name in measured["predictions"]),
        number(answers, "link", 8e-6 * rate, within=0.05,
               look="The program's first line has it."),
        *(number(answers, f"{answer}_pays_below", 8e-6 * even[name], of=2, look=FORMULA)
          for answer, name in (("one_bit", "1 bit"), ("qsgd", "QSGD"), ("top_1", "top 1%"))),
        number(answers, "should_win", should[1], within=0, also=(should[0], should[2]),
               look="Those whose bandwidth is above that of the link."),
        number(answers, "did_win", did[1], within=0, also=(did[0], did[2]),
               look="Those whose last column is above 1."),
        choice(answers, "fastest",
               [name for name, each in took.items() if each <= CLOSE * min(took.values())],
               look="The smallest time of an average."),
        number(answers, "ranks_for_nothing", nothing, within=0.02, of=2,
               look="(P-1) m beside 2 (P-1)/P n: P = 2 n/m, n and m in bytes."),
    ]  # fmt: skip


def cost_of(
    ranks: int, name: str, form: Mapping[str, Any], numbers: int
) -> compression.AveragingCost:
    """What an average by this form costs one rank, from the learner's own packing."""
    [message, pack, unpack] = positive(
        [form["message"], form["pack"], form["unpack"]], f"sizes and times of {name}"
    )
    if message >= 4 * numbers:
        raise Contradiction(f"{name}: a message of {message:,} bytes is no shorter than dense")
    if form["way"] not in ("gathered", "owners"):
        raise Contradiction(f"{name} goes {form['way']!r}, which no form of this lab does")
    return getattr(compression, form["way"])(ranks, message, pack, unpack)


def _median(name: str, seconds: list[float]) -> float:
    return median(positive(seconds, f"times of {name}"))
