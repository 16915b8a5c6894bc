"""A convolution with a stride is one without: of the phases of its input and of its kernel.

At stride s, kernel position i meets only the inputs p * s + i: those whose row is i modulo s. Cut
x and the weight into their rows of equal remainder and call the parts channels. What is left is a
convolution at stride one: ceil(kernel / s) rows, min(s, kernel) times as many channels. Columns
are cut in the same way. A 7 x 7 kernel at stride 2 becomes 4 x 4 on 4 phases.
"""

from torch import Tensor

from ddl_teach.operators.convolution.blocks import window
from ddl_teach.theory.convolution_sizes import Convolution, Pair


def split(images: Tensor, before: Pair, size: Pair, problem: Convolution) -> Tensor:
    """The phases, of `size`, as channels; the first begins `before` the first pixel."""
    if problem.stride == (1, 1):
        return images
    (down, across), (rows, columns), (height, width) = problem.stride, problem.phases, size
    top, left = -before[0], -before[1]
    whole = window(images, top, top + height * down, left, left + width * across)
    apart = whole.unflatten(3, (width, across)).unflatten(2, (height, down))
    return apart[:, :, :, :rows, :, :columns].permute(0, 1, 3, 5, 2, 4).flatten(1, 3)


def merge(parts: Tensor, before: Pair, size: Pair, problem: Convolution) -> Tensor:
    """Images of `size` from their phases, with zeros where there is no phase."""
    if problem.stride == (1, 1):
        return parts
    (down, across), (rows, columns) = problem.stride, problem.phases
    parts = parts.unflatten(1, (-1, rows, columns)).permute(0, 1, 4, 2, 5, 3)
    count, channels, height, _, width, _ = parts.shape
    apart = parts.new_zeros(count, channels, height, down, width, across)
    apart[:, :, :, :rows, :, :columns] = parts
    whole, (top, left) = apart.flatten(4, 5).flatten(2, 3), before
    return window(whole, top, top + size[0], left, left + size[1])
