"""AdaGrad: a weight that has moved much moves less.

    s += g^2;    w -= rate g / (sqrt(s) + eps)

Each weight has its own rate, which only ever falls: right for sparse gradients. Duchi, Hazan and
Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR 2011;
Dean et al., "Large scale distributed deep networks", 2012, for asynchronous training.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at


@dataclass(frozen=True)
class AdaGrad(Checked):
    """Rates that fall with all squares so far."""

    rate: Rate = 0.01
    epsilon: float = 1e-10
    states = 1

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        (squares,) = states
        squares += gradient * gradient
        weights -= at(self.rate, step) * gradient / (squares**0.5 + self.epsilon)
