"""RMSProp: AdaGrad that forgets.

    s = a s + (1 - a) g^2;    w -= rate g / (sqrt(s) + eps)

The squares are those of the last 1/(1 - a) steps or so, and the rate can rise again. Tieleman and
Hinton, "Neural networks for machine learning", lecture 6.5, 2012.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at


@dataclass(frozen=True)
class RMSProp(Checked):
    """Rates that fall with the squares of late."""

    rate: Rate = 0.01
    memory: float = 0.99
    epsilon: float = 1e-8
    states = 1

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        (squares,) = states
        squares *= self.memory
        squares += (1 - self.memory) * gradient * gradient
        weights -= at(self.rate, step) * gradient / (squares**0.5 + self.epsilon)
