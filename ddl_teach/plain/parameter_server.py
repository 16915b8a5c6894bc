"""A parameter server: rank 0 keeps the weights, all other ranks are workers.

    w -= rate * mean over the workers of g_i(w)

In each step the server receives a gradient from every worker, makes one step with their mean, and
sends the new weights to every worker.
Cost of a step: for n bytes of weights and P workers, P n bytes enter the server and P n bytes
leave it. A ring all-reduce sends less than 2 n bytes from each rank.
Smola and Narayanamurthy, "An architecture for parallel topic models", VLDB 2010; Li et al.,
"Scaling distributed machine learning with the parameter server", OSDI 2014.
What to look at: workers never send to each other. It needs at least 2 ranks.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm

SERVER = 0
Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float) -> None:
    """Train `weights` in place; all ranks end with the same weights."""
    if comm.rank == SERVER:
        serve(comm, weights, steps, rate)
    else:
        for step in range(steps):
            comm.send(gradient(weights, comm.rank - 1, comm.size - 1, step), SERVER)
            comm.recv(weights, SERVER)


def serve(comm: Comm, weights: np.ndarray, steps: int, rate: float) -> None:
    """The server's part of the training."""
    workers = range(1, comm.size)
    arriving = np.empty_like(weights)
    for _ in range(steps):
        total = np.zeros_like(weights)
        for worker in workers:
            comm.recv(arriving, worker)
            total += arriving
        weights -= rate * total / len(workers)
        for worker in workers:
            comm.send(weights, worker)
