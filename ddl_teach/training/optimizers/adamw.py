"""AdamW: the weights decay beside Adam's step, not through its gradient.

    w -= rate decay w;    then Adam's step

Added to the gradient, the decay of a weight would be divided by the root of its squares: those
that learn most would decay least. Loshchilov and Hutter, "Decoupled weight decay regularization",
ICLR 2019.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at


@dataclass(frozen=True)
class AdamW(Checked):
    """Adam with weights that decay by rate x decay in each step."""

    rate: Rate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    decay: float = 0.01
    states = 2

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        weights *= 1 - at(self.rate, step) * self.decay
        Adam(self.rate, self.betas, self.epsilon)(weights, gradient, states, step)
