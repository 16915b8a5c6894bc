"""Marks lab 10: throughput, utilisation and goodput of the learner's own two attempts.

Only a training that was killed and resumed is marked for what that cost; the same number of ranks
in both attempts loses the points for comparing them. Tolerances: a tenth for times and shares.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import Any

from ddl_class.labs.marking import Contradiction, Mark, number, positive, predicted
from ddl_teach.theory.failures import young
from ddl_teach.theory.utilisation import utilisation

STEP, BEGAN, SECONDS, LOSS, SAVED = range(5)
PREDICTIONS = ("mfu", "again", "apart", "goodput")
FAILURES = 3 * 3600.0
NOT_KILLED = "It was not killed: start it with --set die=50, and then again without."
SAME_RANKS = "Both attempts had as many ranks: resume on another number."
LOOK = {
    "tokens": "`tokens` of a step over the median of its seconds, in the first of `attempts`.",
    "mfu": "100 x 6 N D / (T x peak): `weights`, `tokens`, the median step, `peak` of all ranks.",
    "fewer": "Median step of the last attempt over that of the first.",
    "again": "Count the steps that stand in more than one attempt.",
    "down": "The begin of the first step after the loss, less the end of the last step before it.",
    "apart": "1e6 x (loss - loss) / loss, of the steps of the first and of the last attempt.",
    "goodput": "Of a step made twice only the second counts. The time begins with `started`.",
    "bill": "6 N D for each step that counts; over each attempt's peak x (its end - `started`).",
    "young": "theory.failures.young(median save, 3 x 3600): the square root of 2 save mean.",
}


def mark(measured: dict[str, Any], answers: dict[str, Any]) -> list[Mark]:
    """A point for each prediction, two for each number."""
    rights = right_answers(measured)
    marks = [predicted(measured, name) for name in PREDICTIONS]
    for name, right in rights.items():
        if isinstance(right, str):
            marks.append(Mark(name, 0, 2, right))
        elif name == "apart" and right is None:
            marks.append(Mark(name, 2, 2))  # it died just after a save: no step has two losses
        else:
            exact = (right, right) if name == "again" else (0.9 * right, 1.1 * right)
            marks.append(number(answers, name, right, within=0, of=2, look=LOOK[name], also=exact))
    return marks


def right_answers(measured: dict[str, Any]) -> dict[str, Any]:
    """The number that follows from the diary; or why there is none."""
    results, settings = measured["results"], measured["settings"]
    attempts = sound(results["attempts"], settings["steps"])
    weights, tokens = positive((results["weights"], results["tokens"]), "weights and tokens")
    first, last = attempts[0], attempts[-1]
    steps = [median(line[SECONDS] for line in attempt["steps"]) for attempt in (first, last)]
    share, _ = utilisation(weights, tokens, steps[0], 1, first["peak"], False, False)
    saves = [line[SAVED] for attempt in attempts for line in attempt["steps"] if line[SAVED]]
    counts = {line[STEP]: line[SECONDS] for attempt in attempts for line in attempt["steps"]}
    whole = end(last) - results["attempts"][0]["started"]
    held = sum(attempt["peak"] * (end(attempt) - attempt["started"]) for attempt in attempts)
    rights: dict[str, Any] = {
        "tokens": tokens / steps[0],
        "mfu": 100 * share,
        "goodput": 100 * sum(counts.values()) / whole,
        "bill": 100 * 6 * weights * tokens * len(counts) / held,
        "young": young(median(saves), FAILURES)
        if saves
        else "Nothing was saved: a smaller every.",
    }
    if len(attempts) < 2:
        return rights | dict.fromkeys(("fewer", "again", "down", "apart"), NOT_KILLED)
    losses = [{line[STEP]: line[LOSS] for line in attempt["steps"]} for attempt in (first, last)]
    both = losses[0].keys() & losses[1].keys()
    apart = max((abs(losses[0][at] / losses[1][at] - 1) for at in both), default=None)
    rights["again"] = sum(len(attempt["steps"]) for attempt in attempts) - len(counts)
    rights["down"] = attempts[1]["steps"][0][BEGAN] - end(first)
    if first["ranks"] == last["ranks"]:
        return rights | dict.fromkeys(("fewer", "apart"), SAME_RANKS)
    return rights | {"fewer": steps[1] / steps[0], "apart": apart and 1e6 * apart}


def end(attempt: dict[str, Any]) -> float:
    """When its last step was over."""
    line = attempt["steps"][-1]
    return line[BEGAN] + line[SECONDS] + line[SAVED]


def sound(attempts: list[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """The attempts that made a step, if a training can have written them."""
    starts = positive((attempt["started"] for attempt in attempts), "starts")
    if starts != sorted(starts):
        raise Contradiction("an attempt began before the one above it")
    attempts = [attempt for attempt in attempts if attempt["steps"]]
    if not attempts:
        raise Contradiction("no step was made")
    for attempt in attempts:
        lines = attempt["steps"]
        positive((attempt["peak"], attempt["ranks"], attempt["started"]), "peak, ranks and start")
        positive((line[SECONDS] for line in lines), "seconds of steps")
        positive((line[LOSS] for line in lines), "losses")
        if any(line[SAVED] < 0 for line in lines):
            raise Contradiction("a save took less than no time")
        if any(after[STEP] != before[STEP] + 1 for before, after in pairwise(lines)):
            raise Contradiction("steps of an attempt do not follow one another")
        if lines[0][BEGAN] < attempt["started"]:
            raise Contradiction("a step began before its attempt")
    every = [line for attempt in attempts for line in attempt["steps"]]
    if any(after[BEGAN] < before[BEGAN] + before[SECONDS] for before, after in pairwise(every)):
        raise Contradiction("a step began before the one above it was over")
    made = {line[STEP] for line in every}
    if len(made) != steps or every[-1][STEP] != steps - 1 or min(made) != 0:
        raise Contradiction(f"the diary does not have all of {steps} steps")
    return attempts
