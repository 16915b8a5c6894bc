"""LAMB: AdamW's direction, each layer stepping by the same share of its own size.

    u = Adam's direction + decay w;    w -= rate (|w| / |u|) u     for each layer by itself

What LARS does for momentum, for Adam. You et al., "Large batch optimization for deep learning:
training BERT in 76 minutes", ICLR 2020, with phi(z) = z.
What to look at: every layer moves by exactly `rate` of its length in each step.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at, norm, pieces


@dataclass(frozen=True)
class LAMB(Checked):
    """Adam with layer-wise adaptive rates; `layers` are offsets into the vector."""

    layers: tuple[int, ...]
    rate: Rate = 1e-2
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-6
    decay: float = 0.0
    states = 2
    elementwise = False

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        adam = Adam(betas=self.betas, epsilon=self.epsilon)
        direction = adam.direction(gradient, states, step) + self.decay * weights
        for own, towards in pieces(self.layers, weights, direction):
            length, way = norm(own), norm(towards)
            trust = length / way if length > 0 and way > 0 else 1.0
            own -= at(self.rate, step) * trust * towards
