"""The judges of unit 24: the outer step, and the puzzle, a plan for a slow link; and without a
centre: workers that lie."""

from collections.abc import Iterable
from functools import partial

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, texts
from ddl_class.exercises.kit.answers import arrays, items, not_none, several, whole
from ddl_class.exercises.kit.asked import held, judge_seconds
from ddl_teach import simulate
from ddl_teach.comm import Uniform
from ddl_teach.training.compression.blocks import Blocks
from ddl_teach.training.consistency.streaming_diloco import StreamingDiLoCo
from ddl_teach.training.optimizers.adamw import AdamW
from ddl_teach.training.optimizers.nesterov import Nesterov
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

OUTER, PLAN = texts(__package__, "outer", "plan")
SITES, STEP, TARGET, GOAL = 4, 0.02, 0.16, 4.0  # seconds of a step; a loss; seconds
MOST_STEPS, NAMES = 400, ("weights", "agreed", "velocity")


def nesterov(agreed: np.ndarray, mean: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, ...]:
    """Outer gradient, new velocity and new weights, with a rate of 0.7 and a momentum of 0.9."""
    gradient = agreed - mean
    kept = 0.9 * velocity + gradient
    return gradient, kept, agreed - 0.7 * (gradient + 0.9 * kept)


def judge_outer(attempt: Attempt) -> None:
    """Two outer steps, of which the second has a velocity."""
    agreed, velocity = attempt.generator.standard_normal((2, 4))
    names = OUTER("agreed"), OUTER("velocity")
    for number_of in (1, 2):
        mean = agreed + attempt.generator.standard_normal(4)
        gradient, kept, right = nesterov(agreed, mean, velocity)
        given, call = (agreed, mean, velocity, 0.7, 0.9), OUTER("call", number=number_of)
        mine, after = arrays(attempt.call(*given), names, OUTER("wanted"), [(4,), (4,)])
        held(OUTER, call, 0, mine, right, name=names[0]).compare(
            other_sign=2 * agreed - right,
            plain=agreed - 0.7 * kept,
            forgotten=agreed - 0.7 * gradient,
            no_rate=agreed - (agreed - right) / 0.7,
        )
        held(OUTER, call, 0, after, kept, name=names[1]).compare(
            velocity_kept=velocity, velocity_sign=0.9 * velocity - gradient
        )
        agreed, velocity = right, kept


def outcome_of(*plan: int) -> tuple[float, float]:
    """The seconds of a training by this plan on the slow link, and its loss on digits held out:
    the larger one of two seeds."""
    steps, period, fragments, delay, levels = plan
    consistency = StreamingDiLoCo(period, fragments, delay, 0.5, Nesterov(0.7, 0.6))
    seconds, losses = 0.0, []
    for seed in (0, 1):
        task = Digits(batch=8, seed=seed, dtype="float64")
        run = simulate(
            train, SITES, network=Uniform(0.05, 32e3), task=task, consistency=consistency,
            compressor=Blocks(levels), update=AdamW(0.01), steps=steps, trace=False,
            pace=lambda worker, step: STEP,
        )  # fmt: skip
        seconds = run.time
        losses.append(task.loss(run.results[0].weights))
    return seconds, max(losses)


def judge_plan(attempt: Attempt) -> None:
    """The loss is reached, and within the goal."""
    plan = items(several(attempt.call(), 5, PLAN("wanted")), PLAN("wanted"), whole)
    PLAN.refuse_if({"most": MOST_STEPS}, too_many=not 1 <= plan[0] <= MOST_STEPS)
    try:
        seconds, loss = outcome_of(*plan)
    except ValueError as error:
        raise Wrong(PLAN("no_plan", error=error)) from None
    values = {"loss": loss, "target": TARGET}
    judge_seconds(attempt, PLAN, seconds, GOAL, values, not_reached=loss > TARGET)


(REPLAY,) = texts(__package__, "replay")


def judge_replay(attempt: Attempt) -> None:
    """A change is what the worker's steps give, to the last bit."""

    def gradient(weights: np.ndarray, worker: int, workers: int, step: int) -> np.ndarray:
        return np.asarray(np.sin(weights * (1 + worker)) + np.cos(step + np.arange(4.0)) / workers)

    def replayed(weights: np.ndarray, worker: int, steps: Iterable[int]) -> np.ndarray:
        mine = weights.copy()
        for step in steps:
            mine -= 0.1 * gradient(mine, worker, 5, step)
        return np.asarray(mine - weights)

    weights, steps = attempt.generator.standard_normal(4), list(range(24, 32))
    of = partial(replayed, weights)
    honest = of(2, steps)
    last_bit = honest.copy()
    last_bit[3] = np.nextafter(honest[3], 9.0)
    claims = {
        "honest": honest, "opposite": -honest, "other_data": of(3, steps),
        "first_steps": of(2, range(8)), "lazy": of(2, steps[:-1]), "last_bit": last_bit,
    }  # fmt: skip
    for name, claimed in claims.items():
        result = attempt.call(claimed, weights.copy(), gradient, 0.1, 2, 5, steps)
        if bool(not_none(result, REPLAY("wanted"))) != (name == "honest"):
            raise Wrong(REPLAY(name))
