"""The judges of unit 13's second notebook: a step of K-FAC, and a schedule for a given machine."""

import numpy as np

from ddl_class.exercises.kit import AnyOf, Attempt, ask, numbers, texts, within
from ddl_class.exercises.unit_13.machine import FARTHEST, TARGET, rolls

KFAC, SCHEDULE = texts(__package__, "kfac", "schedule")
GOAL = 1.5  # seconds
LARGEST = 10**6  # samples in a batch


def judge_kfac(attempt: Attempt) -> None:
    """The gradient between the inverses of both factors."""
    draw = attempt.generator
    for samples, inputs, outputs, damping in ((20, 4, 3, 0.1), (5, 6, 2, 1.0), (12, 3, 5, 0.01)):
        a, d = draw.standard_normal((samples, inputs)), draw.standard_normal((samples, outputs))
        gradient = draw.standard_normal((outputs, inputs))
        in_inverse = np.linalg.inv(a.T @ a / samples + damping * np.eye(inputs))
        out_inverse = np.linalg.inv(d.T @ d / samples + damping * np.eye(outputs))
        undamped = samples > max(inputs, outputs)
        given = a, d, gradient, damping
        ask(attempt, KFAC, given, _step(*given), same=within(1e-7, 1e-12)).compare(
            KFAC.each(undamped=_step(a, d, gradient, 0.0)) if undamped else {},
            sums=_step(*given, count=1),
            not_inverted=_step(*given, power=1),
            one_side=AnyOf(gradient @ in_inverse, out_inverse @ gradient),
            unchanged=gradient,
        )


def _step(
    a: np.ndarray, d: np.ndarray, gradient: np.ndarray, damping: float, count: int = 0,
    power: int = -1,
) -> np.ndarray:  # fmt: skip
    sides = [part.T @ part / (count or len(part)) for part in (d, a)]
    left, right = (
        np.linalg.matrix_power(side + damping * np.eye(len(side)), power) for side in sides
    )
    towards: np.ndarray = left @ gradient @ right
    return towards


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

    *_, rolled = rolls(choose)
    SCHEDULE.refuse_if(
        vars(rolled) | {"target": TARGET, "goal": GOAL},
        lost=not rolled.loss < FARTHEST,
        never=rolled.loss > TARGET,
        too_slow=rolled.seconds > GOAL,
    )
    attempt.note(rolled.seconds)
