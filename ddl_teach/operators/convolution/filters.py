"""The weight as transforms want it: the places of the kernel first, then groups and channels.

With the kernel's places outermost, a transform of all kernels is one matrix product. It gives a
matrix (input channels x output channels) for each place of the tile.

The input's gradient is a convolution too. Output p saw input p + i through weight i; so input y
gets its gradient from outputs y - i: at stride one a convolution with the kernel turned round,
inputs and outputs exchanged, and a border of kernel - 1 - padding zeros.
"""

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


def turned(
    gradient: Tensor, weight: Tensor, problem: Convolution
) -> tuple[Tensor, Tensor, Convolution]:
    """The `x` and `weight` whose convolution at stride one is the input's gradient; its sizes."""
    swapped = weight.unflatten(0, (problem.groups, -1)).transpose(1, 2).flatten(0, 1)
    border = [size - 1 - problem.padding[axis] for axis, size in enumerate(problem.kernel)]
    # Outputs that saw nothing but padding tell nothing: a negative border cuts them off.
    down, across = (max(0, -space) for space in border)
    height, width = gradient.shape[2:]
    inside = gradient[:, :, down : height - down, across : width - across]
    border = [max(0, space) for space in border]
    sizes = Convolution.of_shapes(inside.shape, swapped.shape, 1, border, problem.groups)
    return inside, swapped.flip(2, 3), sizes
