"""Marks lab 9: an entry that a reader can believe, and what its team says of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from statistics import median
from typing import Any

from ddl_class.competition.board import faults, raced
from ddl_class.labs.marking import Contradiction, Mark, choice, number, positive, predicted
from ddl_measure.interval import Interval, interval
from ddl_measure.reports.cases import find
from ddl_measure.reports.file import from_json
from ddl_measure.reports.report import Report

TENTH = 1.1  # what is shortened by less is not called so
CLOSE = 0.03  # nearer to a tenth than this, both answers are right
HONEST, EACH = 6, 2  # points for an entry without fault, and lost by each fault
NEVER = "Most of the trainings did not come to the target: there is no such number."


def mark(measured: Mapping[str, Any], answers: Mapping[str, Any]) -> list[Mark]:
    """The marks, or a Contradiction."""
    entry, house = (_report(measured, name) for name in ("entry", "house"))
    ours, theirs = (_values(report, "seconds to target") for report in (entry, house))
    epochs, its_epochs = (_values(report, "epochs to target") for report in (entry, house))
    found = faults(entry, house)
    own = entry.entries[0].name != house.entries[0].name
    marks = [predicted(measured, name) for name in measured["predictions"]]
    marks += [
        Mark("honest", max(HONEST - EACH * len(found), 0), HONEST, "; ".join(found)),
        Mark("own", int(own), 1, "This is the house's program: write one of your own."),
    ]
    if not math.isfinite(median(ours)) or not math.isfinite(median(theirs)):
        names = ("seconds", "times_faster", "fewer_epochs", "shortened", "verdict")
        return marks + [Mark(name, 0, 1, NEVER) for name in names]
    faster, fewer = median(theirs) / median(ours), median(its_epochs) / median(epochs)
    return [
        *marks,
        number(answers, "seconds", median(ours), within=0.03, look="The program's last lines."),
        number(answers, "times_faster", faster, within=0.05, look="A quotient of medians."),
        number(answers, "fewer_epochs", fewer, within=0.05,
               look="measured.json has 'epochs to target' of both, a number for each seed."),
        choice(answers, "shortened", _shortened(faster / fewer, fewer),
               look="Time is epochs times seconds of an epoch: divide by your answer above."),
        choice(answers, "verdict", [_verdict(interval(ours), interval(theirs))],
               look="One is certainly faster where its interval ends before the other begins."),
    ]  # fmt: skip


def _report(measured: Mapping[str, Any], name: str) -> Report:
    try:
        report = from_json(json.dumps(measured["results"][name]))
    except ValueError as error:
        raise Contradiction(f"{name} is no report: {error}") from None
    if len(report.entries or ()) != 1 or raced(report) is None:
        raise Contradiction(f"{name} has no trainings of one team")
    if report.entries[0].ranks != measured["ground"]["ranks"]:
        raise Contradiction(f"{name} ran on other ranks than were started")
    return report


def _values(report: Report, quantity: str) -> list[float]:
    values = list(find(report.entries[0], quantity)[0].values)
    positive([one for one in values if one != math.inf] or [1.0], quantity)
    return values


def _shortened(seconds: float, epochs: float) -> set[str]:
    """All words that are right: one where the factors are clear, more where they are close."""
    words = {(False, False): "neither", (True, False): "seconds", (False, True): "epochs",
             (True, True): "both"}  # fmt: skip
    return {words[_clear(seconds, at), _clear(epochs, to)] for at in (-1, 1) for to in (-1, 1)}


def _clear(factor: float, doubt: int) -> bool:
    return factor >= TENTH + doubt * CLOSE


def _verdict(ours: Interval, theirs: Interval) -> str:
    if ours[2] < theirs[1]:
        return "faster"
    return "slower" if theirs[2] < ours[1] else "cannot be told"
