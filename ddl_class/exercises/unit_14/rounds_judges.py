"""What rounds lead to in unit 14, by the right rule and by mistakes; and the judge of a plan."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, answers, texts, within
from ddl_class.exercises.kit.asked import judge_seconds
from ddl_teach import Comm
from ddl_teach.collectives import ring

ADMM, PLAN = texts(__package__, "admm", "plan")
SAME = within(1e-9, 1e-12)


def ends(
    losses: Sequence[float],
    longest: int,
    power: float = 0.5,
    rounding: Callable[[float], int] = math.ceil,
    most: int = 0,
) -> list[int]:
    """After which steps rounds end, or what a mistake makes of it."""
    step, steps = 0, list[int]()
    while step < len(losses) - 1:
        wanted = rounding((losses[step] / losses[0]) ** power * longest)
        step = min(step + max(1, min(wanted, most or longest)), len(losses) - 1)
        steps.append(step)
    return steps


# -- a momentum for rounds -----------------------------------------------------------------------

RATE, MOMENTUM, WEIGHTS = 0.1, 0.6, 3


def agreed_weights(
    start: np.ndarray,
    inputs: np.ndarray,
    sums: np.ndarray,
    momentum: float = MOMENTUM,
    twice: bool = False,
    from_start: bool = False,
    share: float = 1.0,
) -> np.ndarray:
    """The weights after all rounds, or what a mistake makes of them."""
    agreed, velocity = start.copy(), np.zeros(WEIGHTS)
    for number in range(inputs.shape[1]):
        weights = np.tile(agreed, (len(inputs), 1))
        for step in range(inputs.shape[2]):
            x, y = inputs[:, number, step], sums[:, number, step]
            weights -= RATE * ((weights * x).sum(axis=1) - y)[:, None] * x
        change = weights.mean(axis=0) - agreed
        velocity = momentum * velocity + share * change
        agreed = (start if from_start else agreed) + velocity + (change if twice else 0)
    return agreed


# -- prices --------------------------------------------------------------------------------------


def by_prices(
    comm: Comm, weights: np.ndarray, curvature: float, wanted: float, penalty: float, rounds: int
) -> None:
    """Consensus ADMM, which takes the learner's place until theirs is right."""
    prices = np.zeros_like(weights)
    for _ in range(rounds):
        centre = weights - prices
        own = (curvature * wanted + penalty * centre) / (curvature + penalty)
        total = own + prices
        ring.allreduce(comm, total)
        weights[...] = total / comm.size
        prices += own - weights


def admm(
    start: np.ndarray,
    curvature: np.ndarray,
    wanted: np.ndarray,
    penalty: float,
    rounds: int,
    mistake: str = "",
) -> np.ndarray:
    """Where all ranks agree after these rounds, or what a mistake makes of it."""
    point, prices = start.copy(), np.zeros((len(wanted), len(start)))
    for _ in range(rounds):
        centre = point + prices if mistake == "away" else point - prices
        own = (curvature * wanted)[:, None] + penalty * centre
        own /= (curvature + penalty)[:, None]
        before = point
        point = (own + prices).mean(axis=0)
        change = own - (before if mistake == "early" else point)
        prices = change if mistake == "restarted" else prices + change
        prices *= mistake != "no_prices"
    return point


# -- a plan against time -------------------------------------------------------------------------

SECONDS = (2e-3,) * 7 + (10e-3,)  # of a step of each worker
MEAN = 10e-3  # seconds of an average of all
CURVATURES, START, NOISE = np.array([1.0, 0.1]), -3.0, 1.0
MINIMA = np.array([-0.4] * 7 + [2.8])[:, None]  # of each worker, in both directions
TARGET, GOAL, LONG = 0.02, 0.3, 10.0  # a loss; seconds
Round = tuple[float, Sequence[int]]


@dataclass
class Expected:
    """The expected loss after each round, and when that is."""

    losses: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


def expected(plan: Sequence[Round]) -> Expected:
    """What comes of a plan, until the target is reached: the mean and the variance of the agreed
    weights follow from those of the round before."""
    run, mean, variance, now = Expected(), np.full(2, START), np.zeros(2), 0.0
    for rate, steps in plan:
        counts, shrink = np.array(steps)[:, None], 1 - rate * CURVATURES
        left = shrink**counts  # of how far a worker is from its own minimum
        mean = (MINIMA + left * (mean - MINIMA)).mean(axis=0)
        own = (rate * NOISE) ** 2 * (1 - left**2) / (1 - shrink**2)  # of each worker's own noise
        variance = left.mean(axis=0) ** 2 * variance + own.sum(axis=0) / len(MINIMA) ** 2
        now += float(np.max(counts[:, 0] * np.array(SECONDS))) + MEAN
        run.losses.append(float(CURVATURES @ (mean**2 + variance)) / 2)
        run.times.append(now)
        if run.losses[-1] <= TARGET or now > LONG:
            break
    return run


def judge_plan(attempt: Attempt) -> None:
    """The expected loss is reached before the goal."""
    plan, wanted, rounds = attempt.call(list(SECONDS)), PLAN("wanted"), list[Round]()
    if not isinstance(plan, list | tuple) or not plan:
        raise Wrong(wanted)
    for number, part in enumerate(plan):
        rate, steps = answers.several(part, 2, wanted)
        rate = answers.number(rate, wanted, part=f"the rate of round {number}")
        steps = answers.items(steps, wanted, answers.whole)
        PLAN.refuse_if(
            {"number": number, "count": len(steps), "rate": rate},
            workers=len(steps) != len(SECONDS),
            negative=any(count < 0 for count in steps),
            much=max(steps, default=0) > 10_000,
            rate=not 0 < rate < 2,
        )
        rounds.append((rate, steps))
    run = expected(rounds)
    loss = run.losses[-1]
    judge_seconds(
        attempt, PLAN, run.times[-1], GOAL, {"loss": loss, "rounds": len(run.losses)},
        grows=not loss < 10, not_reached=not loss <= TARGET,
    )  # fmt: skip
