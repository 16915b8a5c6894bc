"""Paces: how long a gradient takes, for stragglers on purpose, the same on every ground.

Give one to `training.trainer.train` as `pace`: real ranks sleep through it, as one does whose
accelerator computes.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Even:
    """Every gradient of every worker takes these seconds."""

    seconds: float

    def __call__(self, worker: int, step: int) -> float:
        return self.seconds


@dataclass(frozen=True)
class ByChance:
    """Random seconds, exponentially distributed with this mean, new in each step."""

    mean: float
    seed: int = 0

    def __call__(self, worker: int, step: int) -> float:
        numbers = random.Random(f"{self.seed} {worker} {step}")
        return self.mean * numbers.expovariate(1.0)


@dataclass(frozen=True)
class OneSlow:
    """One `worker` takes `times` as long as the others, at every step."""

    seconds: float
    times: float = 5.0
    worker: int = 0

    def __call__(self, worker: int, step: int) -> float:
        return self.seconds * (self.times if worker == self.worker else 1.0)
