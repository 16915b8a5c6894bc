"""What is done in a backward pass that somebody else begins: at its first gradient, at its end.

torch has a hook for a parameter whose gradient is there, and none for the end of a pass. But that
end must be known if a loss does not depend on all parameters: for that its engine has a queue. On
simulated ranks messages in a backward pass need `simulate(..., threads=True)`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from ddl_runtime.core.element_types import at_end_of_backward


def refuse_sparse(gradient: torch.Tensor) -> None:
    """Gradients travel as whole vectors."""
    if gradient.layout is not torch.strided:
        raise TypeError(
            f"wrap: a gradient of shape {tuple(gradient.shape)} is sparse, but "
            "only dense ones are sent: make the embedding with sparse=False"
        )


class BackwardPasses:
    """Whether a backward pass goes on, and whether it is one that ends with messages."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end, self.under_way, self.quiet = end, False, False
        self.unended = [0]  # how many have begun and not ended; a list that outlives this object

    def arrived(self) -> bool:
        """To be called with each gradient; True with the first of a pass."""
        first, self.under_way = not self.under_way, True
        if first:
            self.unended[0] += 1
            at_end_of_backward(self._over)
        return first

    def broken_off(self) -> bool:
        """Whether the last pass ended with an error; forgotten with this question."""
        broken, self.under_way = self.under_way, False
        return broken

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes in here only add to this rank's gradients."""
        before, self.quiet = self.quiet, True
        try:
            yield
        finally:
            self.quiet = before

    def _over(self) -> None:
        self._end()
        self.under_way = False
        self.unended[0] -= 1
