"""HOGWILD with threads of one process: they share all memory anyway.

    w -= rate * g(w)          in each thread, with no lock of ours

Python runs one thread's instructions at a time, but lets it go inside NumPy's matrix products and
long vector operations, and takes turns every few milliseconds anyway: so a gradient does get stale
and an addition can get lost. Where the time goes into NumPy, threads on several cores gain; where
it goes into Python, they do not: `training.consistency.hogwild` does the same with processes.
Recht, Re, Wright and Niu, "HOGWILD!", NIPS 2011.
What to look at: `staleness`, beside that of processes.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.tasks.task import Trainable


@dataclass(frozen=True)
class Threads:
    """Where they ended; of each thread, the losses on its share and the age of its gradients."""

    weights: np.ndarray
    losses: tuple[tuple[float, ...], ...]
    staleness: tuple[tuple[int, ...], ...]


def train_in_threads(task: Trainable, update: Update, threads: int, steps: int) -> Threads:
    """So many threads make so many steps each, all on the same weights."""
    if threads < 1 or steps < 0:
        raise ValueError(f"threads={threads} must be at least 1, steps={steps} at least 0")
    weights = task.initial()
    made = [0] * threads  # each thread writes its own entry only: no lock needed here either

    def run(number: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
        states = [np.zeros_like(weights) for _ in range(update.states)]
        losses, staleness = [], []
        for step in range(steps):
            seen = sum(made)
            loss, gradient = task.gradient(weights, number, threads, step)
            losses.append(loss)
            staleness.append(sum(made) - seen)
            update(weights, gradient, states, step + 1)
            made[number] += 1
        return tuple(losses), tuple(staleness)

    with ThreadPoolExecutor(threads) as pool:
        losses, staleness = zip(*pool.map(run, range(threads)), strict=True)
    return Threads(weights, losses, staleness)
