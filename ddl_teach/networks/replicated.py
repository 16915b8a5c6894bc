"""Sums over ranks: of gradients of parameters that all hold, and that see a part of the work.

Cost: an all-reduce of each gradient, 2 (P-1)/P of its bytes by the ring.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from ddl_teach.collectives.ring import allreduce
from ddl_teach.comm import Comm


def all_reduce(comm: Comm, x: Tensor) -> Tensor:
    """The sum of all ranks' `x`, in a tensor of its own."""
    total = x.detach().contiguous().clone()
    allreduce(comm, total)
    return total


def sum_gradients(comm: Comm, parameters: Iterable[nn.Parameter | None]) -> None:
    """From now on each backward pass sums the gradients of these parameters over the ranks.

    For parameters that all ranks hold and that see a part of the work on each: a part of the
    sequence, of the image, or of the batch if the loss is that of the whole batch.
    """
    for parameter in parameters:
        if parameter is not None and parameter.requires_grad:
            parameter.register_hook(lambda gradient: all_reduce(comm, gradient))
