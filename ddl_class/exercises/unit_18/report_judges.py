"""The judges of unit 18, second half: time to a target, and a review of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ddl_teach.course.exercises.answers import number
from ddl_teach.course.exercises.exercise import Stage, Wrong
from ddl_teach.course.exercises.number_judges import same

NEVER = float("inf")
PARTS = ["input", "forward", "backward", "communication", "update"]
HONEST: dict[str, Any] = {
    "values": [1.0, 1.1, 0.9, 1.0, 1.2, 1.0], "repeated": 6, "includes": PARTS,
    "accuracy": {"training": 0.99, "held out": 0.95}, "scaling": "strong",
    "batches": {1: 64, 8: 64},
}  # fmt: skip
AWKWARD = {  # honest, each in its own way
    "exactly six repetitions": {},
    "weak scaling, called weak": {"scaling": "weak", "batches": {1: 64, 8: 512}},
    "no scaling at all": {"scaling": None, "batches": {4: 64}},
    "two batches, and no scaling claimed": {"scaling": None, "batches": {1: 64, 8: 512}},
    "an outlier that was kept": {"values": [1.0, 1.1, 9.0, 1.0, 1.2, 1.0]},
    "a poor accuracy, but on held-out data": {"accuracy": {"held out": 0.31}},
    "parts in another order": {"includes": PARTS[::-1]},
    "an accuracy of zero": {"accuracy": {"held out": 0.0}},
}
FAULTY = {
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


def judge_to_target(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The median over seeds of the first moment at the target; never counts."""
    for seeds, misses in ((1, 0), (5, 0), (7, 2), (5, 3), (9, 4)):
        curves = [_curve(generator, place < misses) for place in range(seeds)]
        target = 0.9
        call = f"to_target of {seeds} training{'s' * (seeds > 1)}, {misses} of them never there"
        said = number(stage.call(curves, target), f"{call}: return the seconds", finite=False)
        right = float(np.median(_firsts(curves, target)))
        if not same(said, right):
            near = next(
                (why for wrong, why in _wrong_times(curves, target) if same(said, wrong)), ""
            )
            raise Wrong(f"{call}: {said:.5g}, and {right:.5g} is right. {near}".rstrip())


def _curve(generator: np.random.Generator, misses: bool) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and accuracies: up to the target exactly, down again once, and above at last."""
    seconds = np.cumsum(generator.uniform(0.5, 1.5, 9))
    right = np.sort(generator.uniform(0.2, 0.85, 9))
    if not misses:
        begin = int(generator.integers(3, 6))
        right[begin], right[begin + 1] = 0.9, 0.87
        right[begin + 2 :] = np.linspace(0.92, 0.95, 7 - begin)
    return seconds, right


def _firsts(curves: list, target: float) -> list[float]:
    there = [np.flatnonzero(right >= target) for _, right in curves]
    return [
        float(seconds[places[0]]) if len(places) else NEVER
        for (seconds, _), places in zip(curves, there, strict=True)
    ]


def _wrong_times(curves: list, target: float) -> Iterator[tuple[float, str]]:
    firsts = _firsts(curves, target)
    yield float(np.mean(firsts)), "That is the mean: take the median."
    reached = [it for it in firsts if it < NEVER]
    if reached:
        yield (
            float(np.median(reached)),
            "Trainings that never came there have been left out: they took infinitely long.",
        )
        yield min(reached), "That is the luckiest seed: take the median of all."
        yield float(np.mean(reached)), "That is a mean, and only of those that came there."
    ends = [
        float(seconds[-1]) if first == NEVER else first
        for (seconds, _), first in zip(curves, firsts, strict=True)
    ]
    yield (
        float(np.median(ends)),
        "A training that never came there has not come there at its end either: infinity.",
    )
    above = [np.flatnonzero(right > target) for _, right in curves]
    later = [float(seconds[it[0]]) if len(it) else NEVER
             for (seconds, _), it in zip(curves, above, strict=True)]  # fmt: skip
    yield float(np.median(later)), "At the target is there: >=, not >."
    best = [float(seconds[right.argmax()]) for seconds, right in curves]
    yield float(np.median(best)), "That is when it is best; the first time at the target is asked."
    begun = [
        float(seconds[0]) if first == NEVER else first
        for (seconds, _), first in zip(curves, firsts, strict=True)
    ]
    yield (
        float(np.median(begun)),
        "Of a training that never came there that is its beginning: np.argmax is 0 where nothing "
        "is True. It has taken infinitely long.",
    )
    last = [float(seconds[-1]) for seconds, _ in curves]
    yield float(np.median(last)), "That is how long the trainings took in all."


def judge_review(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
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


def _compare(stage: Stage, report: dict[str, Any], faults: set[str]) -> None:
    found = _found(stage.call(report), f"faults of {report}")
    for fault in sorted(faults - found):
        raise Wrong(f"'{fault}' is not found in {report}. {_because(fault)}".rstrip())
    for fault in sorted(found - faults):
        raise Wrong(
            f"'{fault}' is found in {report}, which has {' and '.join(sorted(faults))} only. "
            f"{_because(fault)}".rstrip()
        )


def _found(value: Any, wanted: str) -> set[str]:
    if value is None:
        raise Wrong(f"{wanted}: return a set of names; yours returns None.")
    if not isinstance(value, set | frozenset | list | tuple):
        raise Wrong(f"{wanted}: return a set of names, not {str(value)[:60]}.")
    return {str(it) for it in value}


def _because(fault: str) -> str:
    if fault not in WHY:
        return f"The names are {', '.join(WHY)}."
    why = WHY[fault]
    return f"{why[:1].upper()}{why[1:]}."
