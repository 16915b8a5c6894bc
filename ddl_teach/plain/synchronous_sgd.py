"""Synchronous SGD: all workers wait for each other in every step.

    w -= rate * mean over the workers of g_i(w)

All workers always hold the same weights. So P workers with b samples each make the same steps as
one worker with P b samples.
Cost of a step: the slowest gradient, and one all-reduce of n bytes, by the ring
2 (P-1) (latency + n/P per_byte).
Chen, Monga, Bengio and Jozefowicz, "Revisiting distributed synchronous SGD", 2016.
What to look at: it is what every other way of training is compared with.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allreduce

Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float) -> None:
    """Train `weights` in place; all ranks begin and end with the same weights."""
    for step in range(steps):
        total = gradient(weights, comm.rank, comm.size, step)
        allreduce(comm, total)
        weights -= rate * total / comm.size
