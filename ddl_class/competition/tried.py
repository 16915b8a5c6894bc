"""Settings tried in one process, for the form of an entry: every training that chose them.

By unit 08 data-parallel ranks make the steps of one process with the whole batch, so a rate can be
chosen without ranks; on validation data, since the held-out data must stay unseen.
"""

from collections.abc import Sequence
from typing import Any

from ddl_teach.training.tasks.digits import Digits

Trials = list[tuple[dict[str, Any], int, str]]


def tried(
    rates: Sequence[float], batch: int, steps: int = 50, seed: int = 1
) -> tuple[float, Trials]:
    """The rate that led to the most digits right, and all trainings, as a form names them."""
    right = {
        rate: _right(rate, Digits(batch, seed=seed, validation=True), steps) for rate in rates
    }
    best = max(right, key=right.get)
    outcomes = {rate: "chosen" if rate == best else "not chosen" for rate in rates}
    return best, [({"rate": rate}, seed, outcome) for rate, outcome in outcomes.items()]


def _right(rate: float, task: Digits, steps: int) -> float:
    weights = task.initial()
    for step in range(steps):
        weights -= rate * task.gradient(weights, 0, 1, step)[1]
    return task.accuracy(weights)
