"""The weight as transforms want it: the places of the kernel first, then groups and channels.

With the kernel's places outermost, a transform of all kernels is one matrix product, and what
comes out is a matrix (input channels x output channels) for each place of the tile.
"""

from __future__ import annotations

from torch import Tensor

from ddl_teach.operators.convolution.problem import Convolution


def by_place(weight: Tensor, groups: int) -> Tensor:
    """(places in a kernel, groups, input channels, output channels)."""
    return weight.unflatten(0, (groups, -1)).permute(3, 4, 0, 2, 1).flatten(0, 1).contiguous()


def by_filter(places: Tensor, problem: Convolution) -> Tensor:
    """The other way round: a weight as torch has it."""
    weight = places.unflatten(0, problem.kernel).permute(2, 4, 3, 0, 1)
    return weight.reshape(problem.weight_shape)
