"""Level 2, training: loss, accuracy on data held out, and what the input pipeline takes.

A training is four plain functions: `batch(step)` fetches, `learn(batch)` computes and changes the
weights and returns the loss, `accuracy()` looks at data held out; the order of a training is all
that the harness adds. Two update rules are compared by walking both along the same gradients:
what is called the same must stay together to rounding. Ben-Nun et al. 2019 (Deep500), level 2.
What to look at: a step that waits for its input is no faster with a faster processor; and a wrong
rule still trains, but walks away from the right one at once.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from ddl_measure.levels.events import Events
from ddl_measure.to_accuracy import Evaluation

INPUT, LEARN, EVALUATE = "input", "learn", "evaluate"


@dataclass(frozen=True)
class TrainingRecord:
    """What was learnt and how long it took: the loss of every step, every evaluation on the data
    held out, and the seconds of every step's input and of its learning."""

    losses: tuple[float, ...]
    checkpoints: tuple[Evaluation, ...]
    input_seconds: tuple[float, ...]
    learn_seconds: tuple[float, ...]


def measure_training(
    batch: Callable[[int], Any], learn: Callable[[Any], float], accuracy: Callable[[], float], *,
    steps: int, samples: int, epoch: int, every: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> TrainingRecord:  # fmt: skip
    """Train for `steps` steps of `samples` samples; `epoch` samples are one pass through the data.

    Held-out data are looked at after every `every` steps, and at the end; the looks are not in the
    seconds of training.
    """
    every = steps if every is None else every
    if min(steps, samples, epoch, every) < 1:
        raise ValueError(
            f"steps={steps}, samples={samples}, epoch={epoch} and every={every} must be at least 1"
        )
    events = Events(clock)
    losses: list[float] = []
    checkpoints: list[Evaluation] = []
    for step in range(1, steps + 1):
        with events(INPUT):
            given = batch(step - 1)
        with events(LEARN):
            losses.append(float(learn(given)))
        if step % every and step < steps:
            continue
        with events(EVALUATE):
            right = float(accuracy())
        if not 0 <= right <= 1:
            raise ValueError(
                f"accuracy() gave {right} after step {step}: it is a share of right answers, from "
                "0 to 1"
            )
        waited, learnt, evaluating = (
            sum(events.seconds[event]) for event in (INPUT, LEARN, EVALUATE)
        )
        epochs = step * samples / epoch
        checkpoints.append(Evaluation(step, epochs, waited + learnt, evaluating, right))
    seconds = (tuple(events.seconds[name]) for name in (INPUT, LEARN))
    return TrainingRecord(tuple(losses), tuple(checkpoints), *seconds)


def rule_of(
    update: Callable[[np.ndarray, np.ndarray, list[np.ndarray], int], None], states: int
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A plain function of weights and gradient that returns new weights. `update` changes weights
    in place and keeps `states` vectors, as the rules of `training.optimizers` do."""
    steps, kept = count(1), []

    def rule(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        if len(kept) < states:
            kept.extend(np.zeros_like(weights) for _ in range(states))
        weights = weights.copy()
        update(weights, gradient, kept, next(steps))
        return weights

    return rule


def divergence(
    rule: Callable[[np.ndarray, np.ndarray], np.ndarray],
    reference: Callable[[np.ndarray, np.ndarray], np.ndarray],
    gradient: Callable[[np.ndarray, int], np.ndarray],
    weights: np.ndarray,
    steps: int,
) -> np.ndarray:
    """How far a rule has walked away from a reference after each step, relative to the way gone.

    Both get the gradients of the *reference's* weights, so that a difference is the rule's own;
    `rule(weights, gradient)` returns the new weights and may keep what it likes.
    """
    own, right, begun = weights.copy(), weights.copy(), weights.copy()
    apart = np.empty(steps)
    for step in range(steps):
        slope = gradient(right.copy(), step)
        own = np.array(rule(own, slope.copy()))
        right = np.array(reference(right, slope.copy()))
        gone = np.linalg.norm(right - begun)
        apart[step] = np.linalg.norm(own - right) / gone if gone else np.inf
    return apart
