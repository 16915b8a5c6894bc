"""DiLoCo: each worker makes `period` steps of AdamW alone; then Nesterov's rule steps for all.

    AdamW on w_i with g_i(w_i)                           every step
    d  =  agreed  -  mean over the workers of w_i        every `period` steps: the outer gradient
    m  =  momentum m + d;    agreed  -=  outer_rate (d + momentum m);    all w_i  =  agreed

Cost: one all-reduce for `period` steps, which are hundreds. The states of AdamW stay with their
worker. With outer_rate 1 and momentum 0 it is local SGD.
Douillard et al., "DiLoCo: distributed low-communication training of language models", 2023.
What to look at: d is no gradient, but the way of many steps; the outer rule treats it as one.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allreduce

Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(
    comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float, period: int,
    outer_rate: float = 0.7, momentum: float = 0.9,
) -> None:  # fmt: skip
    """Train `weights` in place; all ranks begin and end with the same weights."""
    agreed, velocity = weights.copy(), np.zeros_like(weights)
    states = np.zeros((2, len(weights)))
    for step in range(1, steps + 1):
        slope = gradient(weights, comm.rank, comm.size, step - 1)
        adamw(weights, slope, states, step, rate)
        if step % period == 0 or step == steps:
            outer_gradient = agreed - weights
            allreduce(comm, outer_gradient)
            outer_gradient /= comm.size
            velocity[:] = momentum * velocity + outer_gradient
            agreed -= outer_rate * (outer_gradient + momentum * velocity)
            weights[:] = agreed


def adamw(w: np.ndarray, slope: np.ndarray, states: np.ndarray, step: int, rate: float) -> None:
    """One step of AdamW in place: Adam, and weights that shrink a little by themselves."""
    first, second = states
    first[:] = 0.9 * first + 0.1 * slope
    second[:] = 0.999 * second + 0.001 * slope**2
    mean, square = first / (1 - 0.9**step), second / (1 - 0.999**step)
    w *= 1 - rate * 0.01
    w -= rate * mean / (np.sqrt(square) + 1e-8)
