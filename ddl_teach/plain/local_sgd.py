"""Local SGD: each worker makes `period` steps alone, then all take the mean of their weights.

    w_i -= rate * g_i(w_i)              every step
    w_i  = mean over the workers of w   every `period` steps

Cost: one all-reduce for `period` steps. Between two of them the workers drift apart, each towards
the minimum of its own data. With period 1 it is synchronous SGD.
McMahan et al., "Communication-efficient learning of deep networks from decentralized data",
AISTATS 2017; Stich, "Local SGD converges fast and communicates little", ICLR 2019.
What to look at: how far the workers are apart before each mean.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allreduce

Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(
    comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float, period: int
) -> None:
    """Train `weights` in place; all ranks begin and end with the same weights."""
    for step in range(steps):
        weights -= rate * gradient(weights, comm.rank, comm.size, step)
        if (step + 1) % period == 0 or step + 1 == steps:
            allreduce(comm, weights)
            weights /= comm.size
