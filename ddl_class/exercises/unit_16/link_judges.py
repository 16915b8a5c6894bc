"""The puzzle of unit 16: a training against time, in which each byte takes 10 µs."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, array, judge_seconds, number, several, texts
from ddl_runtime.pictures.words import time_text
from ddl_teach.training.tasks.digits import Digits

(LINK,) = texts(__package__, "link")
WORKERS, SEEDS = 4, (0, 1)
BANDWIDTH, STEP = 1e5, 5e-3  # bytes a second; seconds of gradients and latency
TARGET, CALM = 0.15, 5  # a loss, as a mean of so many steps: no lucky step counts
GOAL, LIMIT = 0.35, 2.0  # seconds


@dataclass
class Race:
    """Losses on pictures held out, and when each was reached, of the training with seed 0; and
    the mean seconds to the target over all seeds, infinite where a training never reached it."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)


def message_bytes(row: np.ndarray) -> int:
    """How long a message is that says which entries are not zero, and what they are."""
    entries = int(np.count_nonzero(row))
    different = len(np.unique(row[row != 0]))
    if entries == 0:
        return 0
    places = 0 if entries == len(row) else min(12 * entries, len(row))  # a list, or a bit each
    values = min(32 * entries, 32 * different + entries * math.ceil(math.log2(different)))
    return math.ceil((places + values) / 8)


def race(answer: Callable[[np.ndarray, int], Any], limit: float = LIMIT) -> Race:
    """What an answer reaches; a training ends at the target, or after `limit` seconds."""
    runs = [_training(answer, seed, limit) for seed in SEEDS]
    return Race(float(np.mean([run.seconds for run in runs])), runs[0].times, runs[0].losses)


@cache
def _task(seed: int) -> Digits:
    return Digits(batch=32, seed=seed, dtype="float64")


def _training(answer: Callable[[np.ndarray, int], Any], seed: int, limit: float) -> Race:
    task, run, now, step = _task(seed), Race(math.inf), 0.0, 0
    weights = task.initial()
    residuals = np.zeros((WORKERS, len(weights)))
    while now < limit:
        gradients = [task.gradient(weights, part, WORKERS, step)[1] for part in range(WORKERS)]
        totals = residuals + gradients
        arrived, rate = several(answer(totals.copy(), step), 2, LINK("wanted"))
        arrived = array(arrived, LINK("wanted"), totals.shape)
        rate = number(rate, LINK("wanted"), part="the rate")
        residuals = totals - arrived
        weights -= rate * arrived.mean(axis=0)
        now += STEP + (WORKERS - 1) * max(map(message_bytes, arrived)) / BANDWIDTH
        run.times.append(now)
        run.losses.append(task.loss(weights))
        step += 1
        if np.mean(run.losses[-CALM:]) <= TARGET and step >= CALM:
            run.seconds = now
            break
    return run


def judge_link(attempt: Attempt) -> None:
    """The loss is reached before the goal."""
    reached = race(attempt.call)
    values = {"steps": len(reached.times), "loss": reached.losses[-1], "limit": time_text(LIMIT)}
    never = not math.isfinite(reached.seconds)
    judge_seconds(attempt, LINK, reached.seconds, GOAL, values, not_reached=never)
