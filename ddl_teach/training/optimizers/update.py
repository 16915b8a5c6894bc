"""What an update rule is: it changes a vector of weights by a gradient, and keeps a few vectors.

A rule that looks at each parameter alone may update any part of a vector anywhere: on the rank
that owns it, in a bucket of any size, compressed to those that are kept.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ddl_runtime.core.arrays import Array


@runtime_checkable
class Update(Protocol):
    """How a vector of weights is updated, in place."""

    @property
    def states(self) -> int:
        """How many vectors like the weights it keeps, all zeros at first."""

    @property
    def elementwise(self) -> bool:
        """Whether it looks at each parameter alone."""

    def __call__(
        self, weights: Array, gradient: Array, states: Sequence[Array], step: int
    ) -> None:
        """Change `weights` and `states`; steps are counted from 1."""
