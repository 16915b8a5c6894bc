"""NoLoCo: rounds without a global step. Each worker makes its outer step with a few neighbours.

    every `period` steps, x_i the slow weights and d_i how far worker i came since then:
    velocity_i = momentum velocity_i + rate mean(d_j) - pull (x_i - mean(x_j));  x_i += velocity_i

The means are over worker i and its neighbours of this round: with `random_pairs` one other. The
last term pulls the two together. A round costs one message of two vectors, however many workers
there are. Where all are neighbours of all it is block momentum. Kolehmainen et al., "NoLoCo:
no-all-reduce low communication training method for large models", arXiv 2025.
What to look at: in the end the workers have similar weights, and not the same.
"""

from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Mixes


@dataclass(frozen=True)
class NoLoCo(Consistency[Mixes]):
    """Rounds of `period` steps, and then an outer step among neighbours."""

    period: int = 8
    momentum: float = 0.5
    rate: float = 0.7
    pull: float = 1.0
    needs = (Mixes,)
    sends = "weights"

    def __post_init__(self) -> None:
        super().__post_init__()
        amount(self.momentum, "NoLoCo: momentum", below=1)
        amount(self.pull, "NoLoCo: pull", below=2)

    def travels(self, task: object, weights: np.ndarray) -> np.ndarray:
        return np.concatenate((weights, weights))

    def run(self, worker: AnyWorker[Mixes]) -> None:
        slow, velocity = worker.weights.copy(), np.zeros_like(worker.weights)
        for number, begin in enumerate(range(0, worker.steps, self.period)):
            for step in range(begin, min(begin + self.period, worker.steps)):
                worker.update(worker.gradient(step))
            both = np.concatenate((worker.weights - slow, slow))
            worker.handle.mix(both, number)
            change, middle = np.split(both, 2)
            velocity = self.momentum * velocity + self.rate * change + self.pull * (middle - slow)
            slow += velocity
            worker.weights[:] = slow
