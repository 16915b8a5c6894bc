"""Stale-synchronous: no worker is more than `bound` steps ahead of the slowest worker.

The server applies each gradient when it arrives. A worker that has made c steps receives weights
as soon as every worker has made c - bound steps. With bound 0 all wait for all, and a round of P
gradients is one synchronous step of P times the rate; without a bound it is asynchronous.
Cost of a step: 2 n bytes for n bytes of weights. A short delay of one worker costs the others no
time; a worker that is always slower sets the pace of all, whatever the bound is.
Ho et al., "More effective distributed ML via a stale synchronous parallel parameter server",
NIPS 2013. What to look at: which workers `waiting` holds, and when. It needs at least 2 ranks.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import ANY, Comm

SERVER = 0
Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(
    comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float, bound: int
) -> None:
    """Train in place, `steps` gradients of each worker; the server's `weights` are the result."""
    if comm.rank == SERVER:
        serve(comm, weights, steps, rate, bound)
    else:
        for step in range(steps):
            comm.send(gradient(weights, comm.rank - 1, comm.size - 1, step), SERVER)
            comm.recv(weights, SERVER)


def serve(comm: Comm, weights: np.ndarray, steps: int, rate: float, bound: int) -> None:
    """The server's part of the training."""
    made = dict.fromkeys(range(1, comm.size), 0)  # steps of each worker
    waiting = set()
    arriving = np.empty_like(weights)
    while min(made.values()) < steps:
        worker = comm.recv(arriving, ANY)
        weights -= rate * arriving
        made[worker] += 1
        waiting.add(worker)
        for worker in sorted(waiting):
            if made[worker] - min(made.values()) <= bound:
                comm.send(weights, worker)
                waiting.remove(worker)
