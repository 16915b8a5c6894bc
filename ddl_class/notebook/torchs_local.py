"""Local SGD of torch.distributed, beside the learner's own, on the same samples.

torch's PeriodicModelAverager is told of every step, and averages all weights after each `period`
of them; PostLocalSGDOptimizer wraps any optimizer and tells it. Before its `warmup_steps` are over
it averages none, since DistributedDataParallel averages gradients there (Lin, Stich, Patel and
Jaggi, "Don't use large mini-batches, use local SGD", ICLR 2020: post-local SGD); the first mean
comes one step after that.
What to look at: with period - 1 steps of warm-up it is local SGD from the start.
"""

from collections.abc import Callable

import numpy as np

from ddl_class.notebook import gloo
from ddl_teach.collectives import tree
from ddl_teach.comm import Comm

Vector = np.ndarray
Local = Callable[[Comm, Vector, Vector, Vector, float, int], None]
"""`local(comm, weights, inputs, answers, rate, period)`: a step a sample, weights in place."""

SIZE, PERIOD, STEPS, RATE = 3, 4, 16, 0.1


def side_by_side(comm: Comm, local: Local) -> tuple[Vector, Vector]:
    """What the weights of a linear fit become by `local`, and by torch."""
    drawn = np.random.default_rng(comm.rank)
    samples = drawn.standard_normal((STEPS, SIZE)), drawn.standard_normal(STEPS)
    ours, theirs = np.zeros(SIZE), np.zeros(SIZE)
    for way, weights in ((local, ours), (by_torch, theirs)):
        way(comm, weights, *samples, RATE, PERIOD)
    return ours, theirs


def by_torch(
    comm: Comm,
    weights: np.ndarray,
    inputs: np.ndarray,
    answers: np.ndarray,
    rate: float,
    period: int,
) -> None:
    """The same fit by torch's averager and derivatives; loading its optimizers takes seconds."""
    import torch
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

    gloo.allreduce(comm, np.zeros(1))  # torch's ranks meet
    fitted = torch.nn.Parameter(torch.from_numpy(weights))
    averager = PeriodicModelAverager(period, warmup_steps=period - 1)
    for x, y in zip(torch.from_numpy(inputs), answers, strict=True):
        fitted.grad = None
        (0.5 * (x @ fitted - y) ** 2).backward()
        fitted.data -= rate * fitted.grad
        averager.average_parameters([fitted])
    weights[:] = fitted.detach()  # an average is put into memory of its own


def by_hand(
    comm: Comm,
    weights: np.ndarray,
    inputs: np.ndarray,
    answers: np.ndarray,
    rate: float,
    period: int,
) -> None:
    """The same fit as plain lines, which takes the learner's place until theirs is right."""
    for step, (x, y) in enumerate(zip(inputs, answers, strict=True), start=1):
        weights -= rate * (x @ weights - y) * x
        if step % period == 0 or step == len(inputs):
            tree.allreduce(comm, weights)
            weights /= comm.size
