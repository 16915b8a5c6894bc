"""Optimizers on plain vectors: what they keep for each parameter is all that there is to shard.

    momentum   m = mu m + g;  w -= rate m                                   1 state a parameter
    Adam       m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
               w -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)    2 states

Both look at each parameter alone. That is why any part of a vector can be updated anywhere: on the
rank that owns it, in a bucket of any size, compressed to those that are kept. (LARS and LAMB need
the norm of a whole layer and cannot be cut like this without one more sum.)
Kingma & Ba, "Adam: a method for stochastic optimization", 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from torch import Tensor


class Update(Protocol):
    """How a vector of weights is updated, in place, element by element."""

    states: int  # vectors like the weights that it keeps

    def __call__(
        self, weights: Tensor, gradient: Tensor, states: Sequence[Tensor], step: int
    ) -> None:
        """Change `weights` and `states`; steps are counted from 1."""


@dataclass(frozen=True)
class Momentum:
    """Stochastic gradient descent with momentum."""

    rate: float = 0.1
    momentum: float = 0.9
    states: ClassVar[int] = 1

    def __call__(
        self, weights: Tensor, gradient: Tensor, states: Sequence[Tensor], step: int
    ) -> None:
        (moment,) = states
        moment.mul_(self.momentum).add_(gradient)
        weights.sub_(moment, alpha=self.rate)


@dataclass(frozen=True)
class Adam:
    """Adam with its usual settings."""

    rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    states: ClassVar[int] = 2

    def __call__(
        self, weights: Tensor, gradient: Tensor, states: Sequence[Tensor], step: int
    ) -> None:
        first, second = states
        beta1, beta2 = self.betas
        first.mul_(beta1).add_(gradient, alpha=1 - beta1)
        second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        size = (second / (1 - beta2**step)).sqrt_().add_(self.epsilon)
        weights.addcdiv_(first, size, value=-self.rate / (1 - beta1**step))
