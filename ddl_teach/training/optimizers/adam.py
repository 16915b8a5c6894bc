"""Adam: momentum over the root of the mean square, both without the bias of their first steps.

    m = b1 m + (1 - b1) g;    v = b2 v + (1 - b2) g^2
    w -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)

Both means begin at zero, and are divided by the share that has been filled after t steps. Kingma
and Ba, "Adam: a method for stochastic optimization", ICLR 2015. What to look at: a gradient a
thousand times as large makes the same step. Two states a parameter are twice the weights.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at


@dataclass(frozen=True)
class Adam(Checked):
    """Adam with its usual settings."""

    rate: Rate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    states = 2

    def direction(self, gradient: Array, states: States, step: int) -> Array:
        """The step before it is multiplied by the rate: about 1 in each entry while gradients
        agree."""
        first, second = states
        beta1, beta2 = self.betas
        first *= beta1
        first += (1 - beta1) * gradient
        second *= beta2
        second += (1 - beta2) * gradient * gradient
        size = (second / (1 - beta2**step)) ** 0.5
        size += self.epsilon
        return first / (1 - beta1**step) / size

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        weights -= at(self.rate, step) * self.direction(gradient, states, step)
