"""Gossip (D-PSGD) on a ring: each worker averages with its two neighbours only.

    x_i  =  (x_left + x_i + x_right) / 3  -  rate * g_i(x_i)

No worker ever has the mean of all, but the mean of all workers moves as in synchronous SGD, and
each worker stays near it.
Cost of a step: 2 (latency + n per_byte) for n bytes of weights, however many workers there are.
But what one worker learns needs P/2 steps to reach all P ranks of a ring.
Lian et al., "Can decentralized algorithms outperform centralized algorithms? A case study for
decentralized parallel stochastic gradient descent", NIPS 2017.
What to look at: the gradient is that of the worker's own weights before the mean.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm

Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float) -> None:
    """Train `weights` in place; afterwards each rank has weights of its own."""
    for step in range(steps):
        slope = gradient(weights, comm.rank, comm.size, step)
        mix(comm, weights)
        weights -= rate * slope
    mix(comm, weights)  # the last step of each worker has been seen by no other


def mix(comm: Comm, weights: np.ndarray) -> None:
    """Replace `weights` by their mean with both neighbours'."""
    # On two ranks left and right are the same neighbour, and on one rank there is none.
    neighbours = {(comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size} - {comm.rank}
    sending = [comm.isend(weights, neighbour) for neighbour in neighbours]
    total, theirs = weights.copy(), np.empty_like(weights)
    for neighbour in neighbours:
        comm.recv(theirs, neighbour)
        total += theirs
    for request in sending:
        request.wait()  # until then the weights must stay as they are
    weights[:] = total / (1 + len(neighbours))
