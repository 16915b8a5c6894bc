"""Rounds: each worker trains alone for a while, then all agree on the mean of what they learnt.

What is averaged is how far each has come since then: the same mean as that of the weights, but in
small numbers, which may travel in compressors that lose some of them.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach.training.consistency.consistency import AnyWorker
from ddl_teach.training.consistency.handles import Averages


def train_in_rounds(
    worker: AnyWorker[Averages],
    period: Callable[[int, np.ndarray], int],
    agree: Callable[[np.ndarray, np.ndarray], None] = lambda agreed, change: None,
) -> None:
    """`period(step, agreed)` steps at a time; `agree(agreed, change)` may alter both in place
    before the mean change is added to the agreed weights."""
    agreed, step = worker.weights.copy(), 0
    while step < worker.steps:
        end = min(step + period(step, agreed), worker.steps)
        for own in range(step, end):
            worker.update(worker.gradient(own))
        change = worker.weights - agreed
        worker.handle.average(change)
        agree(agreed, change)
        agreed += change
        worker.weights[:] = agreed
        step = end
