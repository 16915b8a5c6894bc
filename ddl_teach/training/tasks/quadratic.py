"""A bowl: 1/2 sum of eigenvalue_i (w_i - m_i)^2, with noise on its gradient, for theory.

Gradient descent of rate r is stable where r times the largest eigenvalue stays below 2; the
smallest decides how fast it goes. `apart` gives every worker a minimum m of its own, with the mean
zero: workers that never agree end in different places. `noise` is the standard deviation of each
gradient's entries.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.training.tasks.task import LossAndGradient, Task


@dataclass(frozen=True)
class Quadratic(Task):
    """One dimension for each of the `eigenvalues`; it begins at one everywhere."""

    eigenvalues: tuple[float, ...] = (1.0, 0.1)
    noise: float = 0.0
    apart: float = 0.0
    seed: int = 0

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((len(self.eigenvalues),),)

    def initial(self) -> np.ndarray:
        return np.ones(len(self.eigenvalues))

    def minimum(self, part: int, parts: int) -> np.ndarray:
        """The weights at which this worker's own loss is least; over all workers their mean is
        zero."""
        if not self.apart:
            return np.zeros(len(self.eigenvalues))
        random = np.random.default_rng([self.seed, parts])
        minima = random.normal(0, self.apart, (parts, len(self.eigenvalues)))
        return np.asarray(minima[part] - minima.mean(axis=0))

    def gradient(self, weights: np.ndarray, part: int, parts: int, step: int) -> LossAndGradient:
        away = weights - self.minimum(part, parts)
        slope = np.asarray(self.eigenvalues) * away
        loss = float(slope @ away) / 2
        if self.noise:
            random = np.random.default_rng([self.seed, part, step])
            slope += self.noise * random.normal(size=len(away))
        return loss, slope

    def loss(self, weights: np.ndarray) -> float:
        return float(np.asarray(self.eigenvalues) @ weights**2) / 2

    def accuracy(self, weights: np.ndarray) -> float:
        """The share of the loss at the beginning that is gone; below zero where it has grown."""
        return 1 - self.loss(weights) / self.loss(self.initial())
