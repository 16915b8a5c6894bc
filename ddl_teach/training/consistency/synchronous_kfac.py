"""Synchronous, and with the curvature: the factors of K-FAC travel beside the gradient.

    A, D, G of each layer = means over the workers;    w -= rate * (D + x I)^-1 G (A + y I)^-1

As `Synchronous`; what is averaged is longer, by inputs^2 + outputs^2 numbers a layer. Each worker
inverts all layers by itself (`optimizers.kfac.distributed` shares that work out). The rule makes
its step along the result as along a gradient. Martens and Grosse, "Optimizing neural networks with
Kronecker-factored approximate curvature", ICML 2015; Osawa et al., "Large-scale distributed
second-order optimization using Kronecker-factored approximate curvature", CVPR 2019.
What to look at: fewer steps to the same loss, more bytes and more work in each of them.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.training.consistency.consistency import AnyWorker, Consistency, Question
from ddl_teach.training.consistency.handles import Averages
from ddl_teach.training.optimizers import kfac
from ddl_teach.training.tasks.task import Factors


@runtime_checkable
class KnowsCurvature(Protocol):
    """A task that knows its layers."""

    def curvature(
        self, weights: np.ndarray, part: int, parts: int, step: int
    ) -> tuple[float, list[Factors]]:
        """The loss; and of each layer what its step is made of, gradients among it."""


@dataclass(frozen=True)
class SynchronousKFAC(Consistency[Averages]):
    """The larger the `damping`, the more the step is that along the gradient."""

    damping: float = 0.1
    needs = (Averages,)
    sends = "curvature"

    def __post_init__(self) -> None:
        # At 0, with fewer samples than inputs, the factors have no inverse.
        amount(self.damping, "SynchronousKFAC: damping", zero=False)

    def travels(self, task: object, weights: np.ndarray) -> np.ndarray:
        return np.zeros_like(kfac.flattened(_curvature(task)(weights, 0, 1, 0)[1]))

    def run(self, worker: AnyWorker[Averages]) -> None:
        for step in range(worker.steps):
            own = worker.ask(_curvature(worker.task), step)
            travelling = kfac.flattened(own)
            worker.handle.average(travelling)
            layers = kfac.restored(travelling, own)
            # A layer's matrix and its bias stand in the vector as (inputs, 1) x outputs.
            steps = [kfac.step(layer, self.damping).T.ravel() for layer in layers]
            worker.update(np.concatenate(steps))


def _curvature(task: object) -> Question[list[Factors]]:
    if not isinstance(task, KnowsCurvature):
        kind = type(task).__name__
        raise TypeError(f"SynchronousKFAC: {kind} gives no factors: take Digits(), or LAMB(...)")
    return task.curvature
