"""An asynchronous parameter server: each gradient is a step of its own, and no worker waits.

    w -= rate * g_i(the weights that worker i received last)

While a worker computes its gradient, the other P - 1 workers make about one step each: so stale
are its weights. A slow worker costs no time; but the stable rate falls as the staleness grows.
Cost of a step: 2 n bytes for n bytes of weights, a gradient in and weights out.
Dean et al., "Large scale distributed deep networks", NIPS 2012 (Downpour SGD).
What to look at: the server answers in the order of arrival. It needs at least 2 ranks.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import ANY, Comm

SERVER = 0
Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float) -> None:
    """Train in place, `steps` gradients of each worker; the server's `weights` are the result."""
    if comm.rank == SERVER:
        serve(comm, weights, steps, rate)
    else:
        for step in range(steps):
            comm.send(gradient(weights, comm.rank - 1, comm.size - 1, step), SERVER)
            comm.recv(weights, SERVER)


def serve(comm: Comm, weights: np.ndarray, steps: int, rate: float) -> None:
    """The server's part of the training."""
    arriving = np.empty_like(weights)
    for _ in range(steps * (comm.size - 1)):
        worker = comm.recv(arriving, ANY)
        weights -= rate * arriving
        comm.send(weights, worker)
