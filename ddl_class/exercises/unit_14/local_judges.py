"""The judges of unit 14, second half: ranks that agree now and then, or hang on springs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddl_teach.course.exercises.exercise import Outcome, Stage, Wrong, ranks_text

SIZE = 3  # weights
RATE, SPRING = 0.1, 0.08
CLOSE = 1e-9

UNTOUCHED = (
    "`weights = ...` only gives the name to a new array: `weights -= ...` and "
    "`weights[...] = ...` change the one that was given."
)
Inputs, Answers = np.ndarray, np.ndarray  # by rank, step (and weight)


def judge_local(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Steps of one's own; the mean after every `period` of them, and after the last."""
    for count in sorted(ranks, key=lambda count: count == 1):
        for steps, period in ((6, 3), (5, 2), (4, 1)):
            start, inputs, answers = _task(generator, count, steps)
            call = f"local on {ranks_text(count)}, {steps} steps, period={period}"
            own = [
                (start.copy(), inputs[rank], answers[rank], RATE, period) for rank in range(count)
            ]
            outcome = stage.run(count, own)

            def ends(begin: int, last: bool = True, task=(start, inputs, answers), each=period):
                """Where all end who average after the steps begin, begin + period, ..."""
                return _local(*task, each, begin, last)

            usual = (
                (ends(period - 1, last=False), "The mean after the last step is missing"),
                (ends(0), "You begin with a mean after the first step: the mean comes after "
                 "`period` steps, when step + 1 is divisible by it"),
                (ends(0, last=False), "You begin with a mean after the first step: the mean comes "
                 "after `period` steps, when step + 1 is divisible by it"),
                (_local(start, inputs, answers, 1, 0, True), "You average after every step: do "
                 "so only after `period` of them"),
                (_local(start, inputs, answers, steps, steps - 1, True), "You average at the end "
                 "only"),
                (_local(start, inputs, answers, steps + 1, steps, False), "Each rank is where it "
                 "came to alone: average the weights"),
            )  # fmt: skip
            _compare(call, outcome, 0, "weights", ends(period - 1), start, usual)
            _judge_averages(call, outcome, steps, period)


def _judge_averages(call: str, outcome: Outcome, steps: int, period: int) -> None:
    """Ranks that agree already may average once more, and it changes nothing but the time."""
    others = len(outcome.ledger) - 1
    wanted = -(-steps // period)
    for rank, ledger in enumerate(outcome.ledger):
        if ledger.messages_sent > wanted * others:
            raise Wrong(
                f"{call}: the weights are right, but rank {rank} averaged "
                f"{ledger.messages_sent / others:g} times where {wanted} are enough: after the "
                "last step once, even if the period ends there too; and weights, not gradients."
            )


def judge_elastic(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """A spring between each rank and the centre pulls at both."""
    for count in sorted(ranks, key=lambda count: count == 1):
        steps = 5
        start, inputs, answers = _task(generator, count, steps)
        call = f"elastic on {ranks_text(count)}, {steps} steps"
        begin = start + 1.0  # where the centre is first, away from the weights
        own = [
            (start.copy(), begin.copy(), inputs[rank], answers[rank], RATE, SPRING)
            for rank in range(count)
        ]
        outcome = stage.run(count, own)
        task = start, begin, inputs, answers
        right = _elastic(*task)
        wrong = {kind: _elastic(*task, kind) for kind in MISTAKES}
        for place, name, given in ((1, "centre", begin), (0, "weights", start)):
            usual = [(ends[place], MISTAKES[kind]) for kind, ends in wrong.items()]
            _compare(call, outcome, place, name, right[place], given, usual)


MISTAKES = {
    "mean": "The centre is pulled by all springs together: their sum, P times the mean",
    "own": "The centre is pulled by all ranks' springs, not by your own only: average, times P",
    "sign": "The signs are crossed: the spring pulls the rank towards the centre, so subtract "
    "from the weights what you add to the centre",
    "late": "You measure the gap after the gradient's step: take gap and gradient first, both "
    "from the weights as they were",
    "later": "You compute the gradient after the spring has pulled: take gap and gradient first, "
    "both from the weights as they were",
    "loose": "The springs pull at the centre only: the weights must be pulled to it as well",
}


def _task(generator: np.random.Generator, ranks: int, steps: int) -> tuple[np.ndarray, ...]:
    start = generator.standard_normal(SIZE)
    inputs = generator.standard_normal((ranks, steps, SIZE))
    return start, inputs, generator.standard_normal((ranks, steps))


def _slopes(weights: np.ndarray, inputs: Inputs, answers: Answers) -> np.ndarray:
    """Of 1/2 (x w - y)^2, for all ranks at once."""
    return ((inputs * weights).sum(axis=1) - answers)[:, None] * inputs


def _local(
    start: np.ndarray, inputs: Inputs, answers: Answers, period: int, begin: int, last: bool
) -> np.ndarray:
    ranks, steps, _ = inputs.shape
    weights = np.tile(start, (ranks, 1))
    for step in range(steps):
        weights -= RATE * _slopes(weights, inputs[:, step], answers[:, step])
        if (step - begin) % period == 0 or (last and step == steps - 1):
            weights[...] = weights.mean(axis=0)
    return weights


def _elastic(
    start: np.ndarray, begin: np.ndarray, inputs: Inputs, answers: Answers, mistake: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and centre of every rank in the end."""
    ranks, steps, _ = inputs.shape
    weights, centres = np.tile(start, (ranks, 1)), np.tile(begin, (ranks, 1))
    for step in range(steps):
        sample = inputs[:, step], answers[:, step]
        gap = weights - centres
        slopes = _slopes(weights - SPRING * gap * (mistake == "later"), *sample)
        if mistake == "late":
            gap = weights - RATE * slopes - centres
        pull = SPRING * gap * (-1 if mistake == "sign" else 1)
        weights -= RATE * slopes + pull * (mistake != "loose")
        total = pull.mean(axis=0) if mistake == "mean" else pull.sum(axis=0)
        centres += pull if mistake == "own" else total
    return weights, centres


def _compare(
    call: str,
    outcome: Outcome,
    place: int,
    name: str,
    right: np.ndarray,
    given: np.ndarray,
    usual: Sequence[tuple[np.ndarray, str]],
) -> None:
    """What one of its arguments has become on every rank; of wrong ones the usual reason."""
    said = np.array([arguments[place] for arguments in outcome.arguments])
    if np.allclose(said, right, rtol=CLOSE, atol=1e-12):
        return
    if np.array_equal(said, np.tile(given, (len(said), 1))):
        raise Wrong(f"{call}: the {name} did not change. {UNTOUCHED}")
    near = [why for wrong, why in usual if np.allclose(said, wrong, rtol=CLOSE, atol=1e-12)]
    rank = int(np.argmax(np.abs(said - right).max(axis=1)))
    raise Wrong(
        f"{call}: on rank {rank} the {name} end with {said[rank][0]:.6g}, and "
        f"{right[rank][0]:.6g} is right. "
        f"{near[0] if near else 'Compare your lines with the formula, term by term'}."
    )
