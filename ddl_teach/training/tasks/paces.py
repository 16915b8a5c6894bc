"""Paces: how long a gradient takes, for stragglers on purpose, the same on every ground.

    Even(seconds)                          always as long
    ByChance(mean)                         exponentially distributed: delays that pass
    OneSlow(seconds, times, worker)        one worker is always so many times slower

Give one to `training.trainer.train` as `pace`: simulated ranks take that long in virtual time,
real ranks sleep, as one does whose accelerator computes.
What to look at: which consistencies wait for whom.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Even:
    """Every gradient of every worker takes as long."""

    seconds: float

    def __call__(self, worker: int, step: int) -> float:
        return self.seconds


@dataclass(frozen=True)
class ByChance:
    """Every gradient takes a time of its own, `mean` seconds on average; equal for equal seeds."""

    mean: float
    seed: int = 0

    def __call__(self, worker: int, step: int) -> float:
        numbers = random.Random(f"{self.seed} {worker} {step}")
        return self.mean * numbers.expovariate(1.0)


@dataclass(frozen=True)
class OneSlow:
    """One `worker` needs so many `times` the others' seconds, at every step."""

    seconds: float
    times: float = 5.0
    worker: int = 0

    def __call__(self, worker: int, step: int) -> float:
        return self.seconds * (self.times if worker == self.worker else 1.0)
