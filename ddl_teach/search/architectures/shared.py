"""Weight sharing: one network holds all architectures, and is trained once.

    w -= rate * gradient of the loss of a path,      each step draws another path at random

A path is a genotype: the operations it names are used, all others rest. Afterwards any is scored
with the weights it finds there, by a forward pass: thousands cost what one training costs.
Pham, Guan, Zoph, Le and Dean, "Efficient neural architecture search via parameter sharing", ICML
2018, draw paths by a controller; Bender, Kindermans, Zoph, Vasudevan and Le, "Understanding and
simplifying one-shot architecture search", ICML 2018, at random.
It is a task as all others: `training.trainer` trains it, and each worker draws a path of its own.
What to look at: a score says how good an architecture is with weights made for all of them;
whether it is as good by itself has to be measured (`agreement`).
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ddl_teach.search.architectures.cells import CELLS, Genotype
from ddl_teach.search.architectures.network import shared
from ddl_teach.search.architectures.train_cells import to_learn
from ddl_teach.search.attempt import Advanced, State
from ddl_teach.search.decider import Settings
from ddl_teach.training.tasks.network_task import NetworkTask
from ddl_teach.training.tasks.task import LossAndGradient


class SharedTask:
    """A task for `training.trainer`: the weights of all architectures, in one vector."""

    def __init__(self, channels: int = 8, batch: int = 32, seed: int = 0) -> None:
        self._seed, network = seed, shared(channels, seed)
        self.inner = NetworkTask(network, to_learn(), batch, seed=seed)
        self.shapes, self.layers = self.inner.shapes, self.inner.layers
        self.initial = self.inner.initial

    def on(self, device: str) -> "SharedTask":
        task = copy(self)
        task.inner = self.inner.on(device)
        return task

    def path(self, part: int, parts: int, step: int) -> Genotype:
        """What worker `part` uses in this step: all workers together draw from one row."""
        return CELLS.sample(self._seed, step * parts + part)

    def gradient(self, weights: np.ndarray, part: int, parts: int, step: int) -> LossAndGradient:
        """The gradient of this worker's path, on its share of the minibatch; zero off the path."""
        self.inner.model.chosen = self.path(part, parts, step)  # type: ignore[assignment]
        return self.inner.gradient(weights, part, parts, step)

    def error(self, weights: np.ndarray, genotype: Genotype) -> float:
        """The share of the validation part that a genotype gets wrong with these weights."""
        self.inner.model.chosen = genotype  # type: ignore[assignment]
        return 1 - self.inner.accuracy(weights)


@dataclass(frozen=True)
class SharedTraining:
    """What a search advances where nothing is trained any more: shared `weights` score a cell."""

    weights: np.ndarray
    channels: int = 8
    where: str = "cpu"

    def on(self, device: str) -> "SharedTraining":
        return replace(self, where=device)

    def __call__(self, settings: Settings, state: State | None, steps: int, seed: int) -> Advanced:
        """No state, and the error on the validation part."""
        return {}, self._task.error(self.weights, settings)

    @cached_property
    def _task(self) -> SharedTask:
        return SharedTask(self.channels).on(self.where)
