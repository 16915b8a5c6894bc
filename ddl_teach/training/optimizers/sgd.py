"""Stochastic gradient descent: w -= rate g.

It keeps nothing, so nothing can get out of date: whoever has the weights has all. The mean of
weights after one step on each rank is the step along the mean gradient, here only.
Robbins and Monro, "A stochastic approximation method", 1951.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ddl_teach.comm.arrays import Array
from ddl_teach.sgd.rates import Rate, at


@dataclass(frozen=True)
class SGD:
    """Plain steps along the gradient."""

    rate: Rate = 0.1
    states: ClassVar[int] = 0
    elementwise: ClassVar[bool] = True

    def __call__(
        self, weights: Array, gradient: Array, states: Sequence[Array], step: int
    ) -> None:
        weights -= at(self.rate, step) * gradient
