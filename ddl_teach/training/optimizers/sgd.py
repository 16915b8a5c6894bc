"""Stochastic gradient descent: w -= rate g.

It keeps nothing, so nothing can get out of date: the weights are all there is. The mean of
weights after one step on each rank is the step along the mean gradient, here only.
Robbins and Monro, "A stochastic approximation method", 1951.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at


@dataclass(frozen=True)
class SGD(Checked):
    """Plain steps along the gradient."""

    rate: Rate = 0.1
    states = 0

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        weights -= at(self.rate, step) * gradient
