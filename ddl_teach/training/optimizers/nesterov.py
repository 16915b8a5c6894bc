"""Nesterov's momentum: the gradient counts as if it had been taken one step ahead.

    m = mu m + g;    w -= rate (g + mu m)

On a smooth convex loss its error after t steps falls as 1/t^2 where plain descent's falls as 1/t.
Nesterov, "A method for solving the convex programming problem with convergence rate O(1/k^2)",
1983; for deep networks Sutskever, Martens, Dahl and Hinton, ICML 2013. The form is torch.optim's.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at


@dataclass(frozen=True)
class Nesterov(Checked):
    """Momentum that looks ahead."""

    rate: Rate = 0.1
    momentum: float = 0.9
    states = 1

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        (moment,) = states
        moment *= self.momentum
        moment += gradient
        weights -= at(self.rate, step) * (gradient + self.momentum * moment)
