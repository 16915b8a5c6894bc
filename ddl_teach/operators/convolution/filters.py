"""The weight as transforms want it: the places of the kernel first, then groups and channels.

With the kernel's places outermost, a transform of all kernels is one matrix product, and what
comes out is a matrix (input channels x output channels) for each place of the tile. Both ways
begin or end with a matrix turned over, which torch does a block at a time.
"""

from __future__ import annotations

from torch import Tensor

from ddl_teach.operators.convolution.problem import Convolution


def by_place(weight: Tensor, groups: int) -> Tensor:
    """(places in a kernel, groups, input channels, output channels)."""
    turned = weight.flatten(1).mT.contiguous().unflatten(0, (weight.shape[1], -1))
    return turned.unflatten(2, (groups, -1)).permute(1, 2, 0, 3).contiguous()


def by_filter(places: Tensor, problem: Convolution) -> Tensor:
    """The other way round: a weight as torch has it."""
    turned = places.permute(2, 0, 1, 3).flatten(2).flatten(0, 1)
    return turned.mT.contiguous().view(problem.weight_shape)
