"""Data parallelism: every rank has all weights and computes the gradient of a part of each batch.

The gradient of a batch is the sum over its samples, divided by their number. So P ranks sum their
parts of it and make the step that one process would make. Weights are never sent: they begin equal
and all ranks make equal steps.
Cost of a step: the gradient of B/P samples, and an all-reduce of n bytes of gradients, by the ring
2 (P-1) (latency + n/P per_byte).
Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1 hour", 2017.
What to look at: the sum is divided by the samples of the whole batch. A mean of the ranks' means
is wrong where their parts are not equally large.
"""

from collections.abc import Callable, Iterable

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allreduce

Gradient = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Of weights, inputs and targets: the sum of the samples' gradients."""


def train(
    comm: Comm,
    weights: np.ndarray,
    gradient: Gradient,
    batches: Iterable[tuple[np.ndarray, np.ndarray]],
    rate: float,
) -> None:
    """Make one step for each batch, in place. All ranks are given the whole batches."""
    for inputs, targets in batches:
        own_inputs = np.array_split(inputs, comm.size)[comm.rank]
        own_targets = np.array_split(targets, comm.size)[comm.rank]
        total = gradient(weights, own_inputs, own_targets)
        allreduce(comm, total)
        weights -= rate * total / len(inputs)
