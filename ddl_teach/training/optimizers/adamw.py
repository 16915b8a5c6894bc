"""AdamW: the weights decay beside Adam's step, not through its gradient.

    w -= rate decay w;    then Adam's step

Added to the gradient, the decay of a weight would be divided by the root of its squares: those
that learn most would decay least. Loshchilov and Hutter, "Decoupled weight decay regularization",
ICLR 2019.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.settings import States, at


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with weights that decay by rate x decay in each step."""

    decay: float = 0.01

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        weights *= 1 - at(self.rate, step) * self.decay
        super().__call__(weights, gradient, states, step)
