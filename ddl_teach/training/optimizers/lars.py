"""LARS: each layer steps by the same share of its own size.

    trust = coefficient |w| / (|g| + decay |w|)            for each layer by itself
    m = mu m + rate trust (g + decay w);    w -= m

With one rate for all, the layer with the largest |g| / |w| decides how large a batch may be. Here
each layer moves by rate x coefficient of its length, and large rates become possible. You, Gitman
and Ginsburg, "Large batch training of convolutional networks", 2017.
What to look at: the norm is that of the *averaged* gradient: average first, then scale.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.settings import Checked, Rate, States, at, norm, pieces


@dataclass(frozen=True)
class LARS(Checked):
    """Momentum with layer-wise adaptive rates; `layers` are offsets into the vector."""

    layers: tuple[int, ...]
    rate: Rate = 1.0
    momentum: float = 0.9
    decay: float = 0.0
    coefficient: float = 0.001
    states = 1
    elementwise = False

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        rate = at(self.rate, step)
        for own, slope, moment in pieces(self.layers, weights, gradient, *states):
            moment *= self.momentum
            length, steep = norm(own), norm(slope)
            trust = 1.0  # where there is nothing to compare, as in a bias of zeros
            if length > 0 and steep > 0:
                trust = self.coefficient * length / (steep + self.decay * length)
            moment += rate * trust * (slope + self.decay * own)
            own -= moment
