"""What an optimizer is to whoever keeps its states: so many vectors beside the weights.

Each rule of `ddl_teach.sgd.updates` is one: Momentum keeps one vector, Adam two. Those that look
at each parameter alone may update any part of a vector anywhere: on the rank that owns it, in a
bucket of any size, compressed to those that are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ddl_teach.comm.arrays import Array


class Update(Protocol):
    """How a vector of weights is updated, in place."""

    states: int  # vectors like the weights that it keeps, all zeros at first
    elementwise: bool  # whether it looks at each parameter alone

    def __call__(
        self, weights: Array, gradient: Array, states: Sequence[Array], step: int
    ) -> None:
        """Change `weights` and `states`; steps are counted from 1."""
