"""Momentum: a step goes where the last ones went, and a little where the gradient points.

    m = mu m + g;    w -= rate m

Where gradients agree steps become 1/(1 - mu) times as long; where they change sign they cancel.
Polyak, "Some methods of speeding up the convergence of iteration methods", 1964. The rate stands
outside of m: inside, a warm-up would need a correction (Goyal et al. 2017, section 3).
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at


@dataclass(frozen=True)
class Momentum(Checked):
    """Stochastic gradient descent with momentum."""

    rate: Rate = 0.1
    momentum: float = 0.9
    states = 1

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        (moment,) = states
        moment *= self.momentum
        moment += gradient
        weights -= at(self.rate, step) * moment
