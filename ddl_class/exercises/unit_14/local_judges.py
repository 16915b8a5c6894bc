"""The judges of unit 14, second half: ranks that agree now and then, or hang on springs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.compare import Usual, any_of, why, within

SIZE = 3  # weights
RATE, SPRING = 0.1, 0.08

UNTOUCHED = (
    "`weights = ...` only gives the name to a new array: `weights -= ...` and "
    "`weights[...] = ...` change the one that was given."
)
Inputs = np.ndarray  # by rank, step and weight
Answers = np.ndarray  # by rank and step


def judge_local(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Steps of one's own; the mean after every `period` of them, and after the last."""
    for count in ranks.last(1, counts):
        for steps, period in ((6, 3), (5, 2), (4, 1)):
            task = start, inputs, answers = _task(generator, count, steps)
            call = f"local on {ranks_text(count)}, {steps} steps, period={period}"
            own = [(start.copy(), inputs[r], answers[r], RATE, period) for r in range(count)]
            outcome = stage.run(count, own)
            usual = {
                "The mean after the last step is missing": (
                    _local(*task, period, period - 1, False)
                ),
                "You begin with a mean after the first step: the mean comes after `period` steps, "
                "when step + 1 is divisible by it": any_of(
                    _local(*task, period, 0, True), _local(*task, period, 0, False)
                ),
                "You average after every step: do so only after `period` of them": (
                    _local(*task, 1, 0, True)
                ),
                "You average at the end only": _local(*task, steps, steps - 1, True),
                "Each rank is where it came to alone: average the weights": (
                    _local(*task, steps + 1, steps, False)
                ),
            }
            right = _local(*task, period, period - 1, True)
            _compare(call, outcome, 0, "weights", right, start, usual)
            _judge_averages(call, outcome, steps, period)


def _judge_averages(call: str, outcome: ProgramOutcome, steps: int, period: int) -> None:
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


def judge_elastic(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """A spring between each rank and the centre pulls at both."""
    for count in ranks.last(1, counts):
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
        wrong = {words: _elastic(*task, kind) for kind, words in MISTAKES.items()}
        for place, name, given in ((1, "centre", begin), (0, "weights", start)):
            usual = {words: ends[place] for words, ends in wrong.items()}
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


def _task(
    generator: np.random.Generator, count: int, steps: int
) -> tuple[np.ndarray, Inputs, Answers]:
    start = generator.standard_normal(SIZE)
    inputs = generator.standard_normal((count, steps, SIZE))
    return start, inputs, generator.standard_normal((count, steps))


def _slopes(weights: np.ndarray, inputs: Inputs, answers: Answers) -> np.ndarray:
    """Of 1/2 (x w - y)^2, for all ranks at once."""
    return ((inputs * weights).sum(axis=1) - answers)[:, None] * inputs


def _local(
    start: np.ndarray, inputs: Inputs, answers: Answers, period: int, begin: int, last: bool
) -> np.ndarray:
    """Where all end who average after the steps begin, begin + period, ..., and after the last."""
    count, steps, _ = inputs.shape
    weights = np.tile(start, (count, 1))
    for step in range(steps):
        weights -= RATE * _slopes(weights, inputs[:, step], answers[:, step])
        if (step - begin) % period == 0 or (last and step == steps - 1):
            weights[...] = weights.mean(axis=0)
    return weights


def _elastic(
    start: np.ndarray, begin: np.ndarray, inputs: Inputs, answers: Answers, mistake: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and centre of every rank in the end."""
    count, steps, _ = inputs.shape
    weights, centres = np.tile(start, (count, 1)), np.tile(begin, (count, 1))
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
    call: str, outcome: ProgramOutcome, place: int, name: str, right: np.ndarray,
    given: np.ndarray,
    usual: Usual,
) -> None:  # fmt: skip
    """What one of its arguments has become on every rank; of wrong ones the usual reason."""
    said = np.array([arguments[place] for arguments in outcome.arguments])
    same = within(1e-9, 1e-12)
    if same(said, right):
        return
    if np.array_equal(said, np.tile(given, (len(said), 1))):
        raise Wrong(f"{call}: the {name} did not change. {UNTOUCHED}")
    rank = int(np.argmax(np.abs(said - right).max(axis=1)))
    words = why(said, usual, "Compare your lines with the formula, term by term", same)
    raise Wrong(
        f"{call}: on rank {rank} the {name} end with {said[rank][0]:.6g}, and "
        f"{right[rank][0]:.6g} is right. {words}"
    )
