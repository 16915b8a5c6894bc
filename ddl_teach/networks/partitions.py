"""What activations look like around split layers, and so what happens on the way in and out.

    Replicated   every rank holds them all           copy_in    ... sum_out
    Parted       every rank holds a part of an axis  gather_in  ... scatter_out

A split layer asks its region to `enter` and to `leave`, and so the same layer is

- tensor parallel       where activations around it are replicated,
- sequence parallel     where they are parted along the sequence (Korthikanti et al., 2022),
- AlexNet's classifier  where they are parted along the batch, as data parallelism leaves them
                        (Krizhevsky, "One weird trick", 2014).

Parameters outside the split layers are the same on every rank. Where they work on a part their
gradients must be summed; else these are complete. What to look at: both regions send the same
bytes; the parted one holds 1/P of the activations, and pays for it with those sums.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor, nn

from ddl_teach.comm import Comm
from ddl_teach.networks.autograd_collectives import copy_in, gather_in, scatter_out, sum_out
from ddl_teach.networks.both_ways import sum_gradients


@dataclass(frozen=True)
class Replicated:
    """Around the split layers every rank holds the same activations."""

    comm: Comm

    def enter(self, x: Tensor) -> Tensor:
        """Everything, for work that is split over the ranks."""
        return copy_in(self.comm, x)

    def leave(self, x: Tensor) -> Tensor:
        return sum_out(self.comm, x)

    def complete(self, parameters: Iterable[nn.Parameter | None]) -> None:
        """See to the gradients of parameters that all ranks hold: they are complete already."""


@dataclass(frozen=True)
class Parted:
    """Around the split layers every rank holds its share of the activations along `axis`."""

    comm: Comm
    axis: int
    total: int  # length of the axis, all shares together

    def enter(self, x: Tensor) -> Tensor:
        return gather_in(self.comm, x, self.axis, self.total)

    def leave(self, x: Tensor) -> Tensor:
        return scatter_out(self.comm, x, self.axis)

    def complete(self, parameters: Iterable[nn.Parameter | None]) -> None:
        """See to the gradients of parameters that all ranks hold: each share adds to them."""
        sum_gradients(self.comm, parameters)


Region = Replicated | Parted
