"""Backup workers: synchronous steps that do not wait for the slowest few workers.

    w -= rate * mean of the first P - extra gradients of this step

A gradient that arrives after its step is dropped; its worker goes on with the step that all are
at. Cost of a step: up to 2 P n bytes for n bytes of weights and P workers. It takes as long as the
(P - extra)-th fastest gradient, and loses the work of the others.
Chen, Monga, Bengio and Jozefowicz, "Revisiting distributed synchronous SGD", 2016.
What to look at: every gradient that counts was computed from the newest weights. It needs at
least 2 ranks, and fewer extra workers than workers.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import ANY, Comm

SERVER = 0
Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(
    comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float, extra: int
) -> None:
    """Train `weights` in place; all ranks end with the same weights."""
    if comm.rank == SERVER:
        serve(comm, weights, steps, rate, extra)
    else:
        message, step = np.empty(1 + weights.size), 0
        while step < steps:
            message[0], message[1:] = step, gradient(weights, comm.rank - 1, comm.size - 1, step)
            comm.send(message, SERVER)
            comm.recv(message, SERVER)
            step, weights[:] = int(message[0]), message[1:]


def serve(comm: Comm, weights: np.ndarray, steps: int, rate: float, extra: int) -> None:
    """The server's part of the training."""
    workers, step, finished = comm.size - 1, 0, 0
    message = np.empty(1 + weights.size)  # a step, then a gradient or weights
    total, in_time = np.zeros_like(weights), []
    while finished < workers:
        worker = comm.recv(message, ANY)
        answered = []
        if message[0] < step:
            answered = [worker]  # too late: dropped
        else:
            total += message[1:]
            in_time.append(worker)
        if len(in_time) == workers - extra:
            weights -= rate * total / len(in_time)
            step, answered = step + 1, in_time
            total, in_time = np.zeros_like(weights), []
        message[0], message[1:] = step, weights
        for worker in answered:
            comm.send(message, worker)
            finished += step == steps
