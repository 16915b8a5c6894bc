"""Elastic averaging: springs hold the workers near a centre, and the centre near the workers.

    pull = spring (w_i - centre);    w_i -= pull;    centre += pull       every `period` steps
    w_i -= rate g_i                                                       every step

Workers may differ, and so explore; the centre is a slow mean of them, and the result. The springs
of all P workers together, P spring, must be at most 1.
Cost: 2 n bytes every `period` steps for n bytes of weights, a worker's weights in, its pull out.
Zhang, Choromanska and LeCun, "Deep learning with elastic averaging SGD", NIPS 2015.
What to look at: what a worker loses the centre gains. No worker waits for another one. It needs at
least 2 ranks.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import ANY, Comm

SERVER = 0
Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(
    comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float, period: int,
    spring: float,
) -> None:  # fmt: skip
    """Train in place; rank 0 ends with the centre, each worker with weights of its own."""
    if comm.rank == SERVER:
        exchanges = len(range(0, steps, period)) * (comm.size - 1)
        serve(comm, weights, exchanges, spring)
    else:
        pull = np.empty_like(weights)
        for step in range(steps):
            slope = gradient(weights, comm.rank - 1, comm.size - 1, step)
            if step % period == 0:
                comm.send(weights, SERVER)
                comm.recv(pull, SERVER)
                weights -= pull
            weights -= rate * slope


def serve(comm: Comm, centre: np.ndarray, exchanges: int, spring: float) -> None:
    """Keep the centre: at each exchange move it to a worker, and send the worker that move."""
    theirs = np.empty_like(centre)
    for _ in range(exchanges):
        worker = comm.recv(theirs, ANY)
        pull = spring * (theirs - centre)
        centre += pull
        comm.send(pull, worker)
