"""The judges of unit 18, second half: time to a target, and a review of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit.answers import SHOWN, not_none, number
from ddl_class.exercises.kit.compare import compare

NEVER = float("inf")
Curve = tuple[np.ndarray, np.ndarray]  # seconds and accuracies
SETS = (set, frozenset, list, tuple)
PARTS = ["input", "forward", "backward", "communication", "update"]
HONEST: dict[str, Any] = {
    "values": [1.0, 1.1, 0.9, 1.0, 1.2, 1.0], "repeated": 6, "includes": PARTS,
    "accuracy": {"training": 0.99, "held out": 0.95}, "scaling": "strong",
    "batches": {1: 64, 8: 64},
}  # fmt: skip
AWKWARD: dict[str, dict[str, Any]] = {  # honest, each in its own way
    "exactly six repetitions": {},
    "weak scaling, called weak": {"scaling": "weak", "batches": {1: 64, 8: 512}},
    "no scaling at all": {"scaling": None, "batches": {4: 64}},
    "two batches, and no scaling claimed": {"scaling": None, "batches": {1: 64, 8: 512}},
    "an outlier that was kept": {"values": [1.0, 1.1, 9.0, 1.0, 1.2, 1.0]},
    "a poor accuracy, but on held-out data": {"accuracy": {"held out": 0.31}},
    "parts in another order": {"includes": PARTS[::-1]},
    "an accuracy of zero": {"accuracy": {"held out": 0.0}},
}
FAULTY: dict[str, list[dict[str, Any]]] = {
    "no interval": [{"values": [1.0, 1.1, 0.9, 1.0, 1.2], "repeated": 5},
                    {"values": [1.0], "repeated": 1}],
    "best of n": [{"repeated": 7}, {"repeated": 600}],
    "no input time": [{"includes": PARTS[1:]}, {"includes": []}],
    "throughput without accuracy": [{"accuracy": {}}],
    "no test accuracy": [{"accuracy": {"training": 0.99}}, {"accuracy": {"validation": 0.97}}],
    "weak scaling sold as strong": [{"batches": {1: 64, 8: 512}}, {"batches": {2: 64, 4: 65}}],
}  # fmt: skip
WHY = {
    "no interval": "six values are the fewest whose range holds the median in 95 of 100 cases",
    "best of n": "`repeated` says how often it was measured, and all of that must be in `values`",
    "no input time": "the word 'input' has to stand in `includes`",
    "throughput without accuracy": "`accuracy` is empty only if nobody looked",
    "no test accuracy": "an accuracy on data held out makes up for no other; one on other data "
    "does not make up for it. Where there is none at all, that is the other fault",
    "weak scaling sold as strong": "only what is called strong must keep its batch",
}


def judge_to_target(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The median over seeds of the first moment at the target; never counts."""
    for seeds, misses in ((1, 0), (5, 0), (7, 2), (5, 3), (9, 4)):
        curves = [_curve(generator, place < misses) for place in range(seeds)]
        target = 0.9
        call = f"to_target of {seeds} training{'s' * (seeds > 1)}, {misses} of them never there"
        said = number(stage.call(curves, target), f"{call}: return the seconds", finite=False)
        compare(
            call, said, float(np.median(_firsts(curves, target))), _wrong_times(curves, target)
        )


def _curve(generator: np.random.Generator, misses: bool) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and accuracies: up to the target exactly, down again once, and above at last."""
    seconds = np.cumsum(generator.uniform(0.5, 1.5, 9))
    right = np.sort(generator.uniform(0.2, 0.85, 9))
    if not misses:
        begin = int(generator.integers(3, 6))
        right[begin], right[begin + 1] = 0.9, 0.87
        right[begin + 2 :] = np.linspace(0.92, 0.95, 7 - begin)
    return seconds, right


def _firsts(curves: list[Curve], target: float) -> list[float]:
    there = [np.flatnonzero(right >= target) for _, right in curves]
    return [
        float(seconds[places[0]]) if len(places) else NEVER
        for (seconds, _), places in zip(curves, there, strict=True)
    ]


def _wrong_times(curves: list[Curve], target: float) -> dict[str, float]:
    firsts = _firsts(curves, target)
    reached = [first for first in firsts if first < NEVER] or [np.nan]
    above = [np.flatnonzero(right > target) for _, right in curves]

    def median(of: Callable[[np.ndarray, np.ndarray, float], float]) -> float:
        pairs = zip(curves, firsts, strict=True)
        return float(np.median([of(seconds, right, first) for (seconds, right), first in pairs]))

    later = [
        float(seconds[places[0]]) if len(places) else NEVER
        for (seconds, _), places in zip(curves, above, strict=True)
    ]
    return {
        "That is the mean: take the median": float(np.mean(firsts)),
        "Trainings that never came there have been left out: they took infinitely long": (
            float(np.median(reached))
        ),
        "That is the luckiest seed: take the median of all": min(reached),
        "That is a mean, and only of those that came there": float(np.mean(reached)),
        "A training that never came there has not come there at its end either: infinity": (
            median(lambda seconds, _, first: seconds[-1] if first == NEVER else first)
        ),
        "At the target is there: >=, not >": float(np.median(later)),
        "That is when it is best; the first time at the target is asked": (
            median(lambda seconds, right, _: seconds[right.argmax()])
        ),
        "Of a training that never came there that is its beginning: np.argmax is 0 where nothing "
        "is True. It has taken infinitely long": (
            median(lambda seconds, _, first: seconds[0] if first == NEVER else first)
        ),
        "That is how long the trainings took in all": median(lambda seconds, *_: seconds[-1]),
    }


def judge_review(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Every fault is found, alone and among others, and no honest report is accused."""
    for told, change in AWKWARD.items():
        found = _found(stage.call({**HONEST, **change}), f"faults of an honest report ({told})")
        for fault in sorted(found):
            raise Wrong(
                f"An honest report is accused of '{fault}' ({told}). {_because(fault)}".rstrip()
            )
    for fault, changes in FAULTY.items():
        for change in changes:
            _compare(stage, {**HONEST, **change}, {fault})
    names = list(FAULTY)
    for _ in range(8):
        chosen = set(
            generator.choice(names, int(generator.integers(2, 5)), replace=False).tolist()
        )
        if {"throughput without accuracy", "no test accuracy"} <= chosen:
            chosen.discard("no test accuracy")
        report = dict(HONEST)
        for fault in sorted(chosen, reverse=True):  # "no interval" before "best of n"
            report |= FAULTY[fault][0]
        if {"no interval", "best of n"} <= chosen:
            report["repeated"] = 9
        _compare(stage, report, chosen)


def _compare(stage: ProgramRunner, report: dict[str, Any], faults: set[str]) -> None:
    found = _found(stage.call(report), f"faults of {report}")
    for fault in sorted(faults - found):
        raise Wrong(f"'{fault}' is not found in {report}. {_because(fault)}".rstrip())
    for fault in sorted(found - faults):
        raise Wrong(
            f"'{fault}' is found in {report}, which has {' and '.join(sorted(faults))} only. "
            f"{_because(fault)}".rstrip()
        )


def _found(value: Any, wanted: str) -> set[str]:
    if not isinstance(not_none(value, f"{wanted}: return a set of names"), SETS):
        raise Wrong(f"{wanted}: return a set of names, not {str(value)[:SHOWN]}.")
    return set(map(str, value))


def _because(fault: str) -> str:
    if fault not in WHY:
        return f"The names are {', '.join(WHY)}."
    why = WHY[fault]
    return f"{why[:1].upper()}{why[1:]}."
