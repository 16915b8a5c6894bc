"""Sharded optimizer (ZeRO, stage 1): each rank keeps the states of its part of the weights only.

    m = momentum m + mean over the ranks of g;   w -= rate m          each rank for its part

In data parallelism all ranks compute the same update, and each keeps all states for it. An
all-reduce is a reduce-scatter and an all-gather: the update of one part fits between the two.
Cost of a step: 2 (P-1) (latency + n/P per_byte) for n bytes of weights, as the all-reduce alone.
Memory: n / P bytes of moments a rank in place of n; with Adam, two moments, 2 n / P.
Rajbhandari, Rasley, Ruwase and He, "ZeRO: memory optimizations toward training trillion parameter
models", SC 2020. What to look at: the states are never sent.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allgather, reduce_scatter

Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(
    comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float, momentum: float
) -> None:
    """Train `weights` in place; all ranks begin and end with the same weights."""
    own = np.array_split(weights, comm.size)[comm.rank]  # a view
    moment = np.zeros_like(own)
    for step in range(steps):
        mean = reduce_scatter(comm, gradient(weights, comm.rank, comm.size, step)) / comm.size
        moment *= momentum
        moment += mean
        own -= rate * moment
        allgather(comm, weights)
