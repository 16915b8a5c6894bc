"""The judges of unit 13: LARS, and a schedule for a given machine."""

import math
from functools import partial
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, held, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import numbers
from ddl_class.exercises.unit_13.machine import FARTHEST, RANKS, TARGET, rolls

(LARS,) = texts(__package__, "lars")


def slope(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient of the mean square error."""
    return np.asarray(2 * x.T @ (x @ weights - y) / len(y))


def small_steps(
    weights: np.ndarray, pieces: list[tuple[Any, Any]], rate: float, adding: bool
) -> np.ndarray:
    """A step after each piece, with its own gradient or with all so far."""
    total = np.zeros_like(weights)
    for piece in pieces:
        total = adding * total + slope(weights, *piece)
        weights = weights - rate * total
    return weights


MOMENTUM = 0.9
SHAPES = ((6, 4), (4,), (4, 3))  # three layers
SIZES = [math.prod(shape) for shape in SHAPES]
LAYER = np.repeat(range(len(SHAPES)), SIZES)  # of each number, where all are in one vector


def judge_lars(attempt: Attempt) -> None:
    """One step with momentum, of the averaged gradients, each layer by its own |w| / |g|."""
    for count in ranks.last(1, attempt.counts):
        scales = 10.0 ** attempt.generator.uniform(-1, 1, (3, len(SHAPES)))[:, LAYER]
        weights, moments, slopes = scales * attempt.generator.standard_normal(scales.shape)
        own = slopes + attempt.generator.standard_normal((count, len(slopes)))
        rate = float(attempt.generator.uniform(0.01, 0.1))
        parts = [list(map(_layers, (weights, gradient, moments))) for gradient in own]
        call, outcome = run_ranks(attempt, LARS, [(*layers, rate) for layers in parts])
        mean = own.mean(axis=0)
        trust, lars = _trust(weights, mean), partial(_lars, weights, mean, moments, rate)
        right = _, kept = lars()
        late = MOMENTUM * moments + mean
        for rank, (result, _, moved, _) in enumerate(outcome.arguments):
            after = [
                np.concatenate([np.ravel(layer) for layer in part]) for part in (result, moved)
            ]
            held(LARS, call, rank, after, right, names=("the weights", "the moments")).compare(
                unchanged=[weights, moments],
                no_step=[weights, kept],
                moments_kept=[weights - kept, moments],
                uphill=[weights + kept, kept],
                own_step=_lars(weights, own[rank], moments, rate),
                own_lengths=lars(_trust(weights, own[rank])),
                no_trust=lars(1.0),
                upside_down=lars(1 / trust),
                whole_network=lars(np.linalg.norm(weights) / np.linalg.norm(mean)),
                forgotten=_lars(weights, mean, 0 * moments, rate),
                late_trust=[weights - rate * trust * late, late],
                no_rate=lars(trust / rate),
            )


def _layers(vector: np.ndarray) -> list[np.ndarray]:
    parts = np.split(vector, np.cumsum(SIZES)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True)]


def _lars(
    weights: np.ndarray, gradient: np.ndarray, moments: np.ndarray, rate: float, trust: Any = None
) -> list[np.ndarray]:
    """Weights and moments after the step."""
    trust = _trust(weights, gradient) if trust is None else trust
    kept = MOMENTUM * moments + rate * trust * gradient
    return [weights - kept, kept]


def _trust(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """|w| / |g| of each number's layer."""
    squares = np.bincount(LAYER, weights**2) / np.bincount(LAYER, gradient**2)
    return np.asarray(np.sqrt(squares)[LAYER])


(SCHEDULE,) = texts(__package__, "schedule")
GOAL = 1.5  # seconds
LARGEST = 10**6  # samples in a batch


def kfac_step(
    a: np.ndarray, d: np.ndarray, gradient: np.ndarray, damping: float, count: int = 0,
    power: int = -1,
) -> np.ndarray:  # fmt: skip
    """The gradient between the inverses of both factors, or what a mistake makes of it."""
    sides = [part.T @ part / (count or len(part)) for part in (d, a)]
    left, right = (
        np.linalg.matrix_power(side + damping * np.eye(len(side)), power) for side in sides
    )
    return np.asarray(left @ gradient @ right)


def judge_schedule(attempt: Attempt) -> None:
    """The target is reached, and soon."""

    def choose(step: int, noise: float, signal: float) -> tuple[int, float]:
        wanted = SCHEDULE("wanted", step=step)
        answer = attempt.call(step, noise, signal)
        batch, rate = numbers(answer, ("the batch", "the rate"), wanted)
        SCHEDULE.refuse_if(
            {"step": step, "batch": batch, "rate": rate, "most": LARGEST},
            no_batch=batch != int(batch) or not 1 <= batch <= LARGEST,
            no_rate=not 0 < rate < 1000,
        )
        return int(batch), rate

    steps = list(rolls(choose))
    rolled, most = steps[-1], max(step.batch for step in steps)
    SCHEDULE.refuse_if(
        vars(rolled) | {"target": TARGET, "goal": GOAL},
        lost=not rolled.loss < FARTHEST,
        never=rolled.loss > TARGET,
        too_slow=rolled.seconds > GOAL,
    )
    attempt.note(rolled.seconds, SCHEDULE("holds", most=most, own=-(-most // RANKS)))
