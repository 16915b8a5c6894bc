"""Synchronous, and with the curvature: the factors of K-FAC travel beside the gradient.

    A, D, G of each layer = means over the workers;    w -= rate * (D + x I)^-1 G (A + y I)^-1

All workers hold the same weights at all times, as `Synchronous` does; what is averaged is longer,
by inputs^2 + outputs^2 numbers a layer, and each worker then inverts all layers by itself, for a
path has no way to hand a part of the work to one of them (`updates.kfac.distributed` does that).
The rule makes its step along the result as it would along a gradient.
Martens and Grosse, "Optimizing neural networks with Kronecker-factored approximate curvature",
ICML 2015; Osawa et al., "Large-scale distributed second-order optimization using
Kronecker-factored approximate curvature", CVPR 2019.
What to look at: fewer steps to the same loss, more bytes and more work in each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ddl_teach.sgd.task import Task
from ddl_teach.sgd.updates import kfac
from ddl_teach.sgd.when import When
from ddl_teach.sgd.worker import Worker


@dataclass(frozen=True)
class SynchronousKFAC(When):
    """The larger the `damping`, the more the step is that along the gradient."""

    damping: float = 0.1
    needs: ClassVar[tuple[str, ...]] = ("average",)
    sends: ClassVar[str] = "curvature"

    def __post_init__(self) -> None:
        if not self.damping > 0:
            raise ValueError(
                f"SynchronousKFAC: damping={self.damping} must be above zero: with fewer samples "
                "than inputs the factors cannot be inverted without"
            )

    def travels(self, task: Task, weights: np.ndarray) -> np.ndarray:
        """Room for the factors of all layers."""
        if not hasattr(task, "curvature"):
            raise TypeError(
                f"SynchronousKFAC: {type(task).__name__} tells no factors of its layers' "
                "curvature: take Digits(), or a rule that needs gradients only, such as LAMB(...)"
            )
        return np.zeros_like(kfac.flattened(task.curvature(weights, 0, 1, 0)[1]))

    def run(self, worker: Worker) -> None:
        """One worker's training."""
        for step in range(worker.steps):
            own = worker.curvature(step)
            travelling = kfac.flattened(own)
            worker.station.average(travelling)
            layers = kfac.restored(travelling, own)
            # A layer's matrix and its bias stand in the vector as (inputs, 1) x outputs.
            steps = [kfac.step(layer, self.damping).T.ravel() for layer in layers]
            worker.update(np.concatenate(steps))
