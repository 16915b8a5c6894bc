"""RMSProp: AdaGrad that forgets.

    s = a s + (1 - a) g^2;    w -= rate g / (sqrt(s) + eps)

The squares are those of the last 1/(1 - a) steps or so, and the rate can rise again. Tieleman and
Hinton, "Neural networks for machine learning", lecture 6.5, 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ddl_teach.comm.arrays import Array
from ddl_teach.sgd.rates import Rate, at


@dataclass(frozen=True)
class RMSProp:
    """Rates that fall with the squares of late."""

    rate: Rate = 0.01
    memory: float = 0.99
    epsilon: float = 1e-8
    states: ClassVar[int] = 1
    elementwise: ClassVar[bool] = True

    def __call__(
        self, weights: Array, gradient: Array, states: Sequence[Array], step: int
    ) -> None:
        (squares,) = states
        squares *= self.memory
        squares += (1 - self.memory) * gradient * gradient
        weights -= at(self.rate, step) * gradient / (squares**0.5 + self.epsilon)
