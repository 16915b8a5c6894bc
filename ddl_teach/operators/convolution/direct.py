"""Direct convolution: the definition, one kernel position at a time.

For kernel position (i, j) every output sees one input value: a view of x, shifted by (i, j) and
taken with the stride. The sum over channels is then a matrix product, and kernel_height *
kernel_width of those are added up. Nothing is transformed and nothing is stored twice.

Cost: batch * out_channels * out_height * out_width * in_channels / groups * kernel_height *
kernel_width multiplications, and as many additions. Workspace: the padded input and one shifted
view of it. What to look at: all three passes are the same loop over the same views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from ddl_teach.operators.convolution.problem import Convolution, Pair


def forward(
    x: Tensor, weight: Tensor, *, stride: Pair = (1, 1), padding: Pair = (0, 0), groups: int = 1
) -> Tensor:
    """The output of the convolution."""
    problem = Convolution.of(x, weight, stride, padding, groups)
    weight = weight.unflatten(0, (groups, -1))
    padded = pad(x, (padding[1], padding[1], padding[0], padding[0]))
    output = x.new_zeros(problem.output_shape)
    total = output.unflatten(1, (groups, -1)).flatten(3)
    for i, j, seen in shifted(padded.unflatten(1, (groups, -1)), problem):
        total += weight[..., i, j] @ seen.flatten(3)
    return output


def input_gradient(
    gradient: Tensor,
    weight: Tensor,
    x_shape: Sequence[int],
    *,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    groups: int = 1,
) -> Tensor:
    """What the loss gains per input value, from what it gains per output value."""
    problem = Convolution.of_shapes(x_shape, weight.shape, stride, padding, groups)
    weight = weight.unflatten(0, (groups, -1)).transpose(1, 2)
    gradient = gradient.unflatten(1, (groups, -1)).flatten(3)
    total = gradient.new_zeros(problem.batch, problem.in_channels, *problem.padded)
    for i, j, seen in shifted(total.unflatten(1, (groups, -1)), problem):
        seen += (weight[..., i, j] @ gradient).view(seen.shape)
    top, left = padding
    return total[:, :, top : top + problem.height, left : left + problem.width]


def weight_gradient(
    x: Tensor,
    gradient: Tensor,
    weight_shape: Sequence[int],
    *,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    groups: int = 1,
) -> Tensor:
    """What the loss gains per weight: a sum over the batch and over all positions."""
    problem = Convolution.of_shapes(x.shape, weight_shape, stride, padding, groups)
    padded = pad(x, (padding[1], padding[1], padding[0], padding[0]))
    gradient = gradient.unflatten(1, (groups, -1)).flatten(3)
    total = x.new_empty(problem.weight_shape).unflatten(0, (groups, -1))
    for i, j, seen in shifted(padded.unflatten(1, (groups, -1)), problem):
        total[..., i, j] = (gradient @ seen.flatten(3).mT).sum(0)
    return total.flatten(0, 1)


def shifted(padded: Tensor, problem: Convolution) -> Iterator[tuple[int, int, Tensor]]:
    """For each kernel position, the view of the padded input that the outputs see through it."""
    (down, across) = problem.stride
    height, width = problem.output_height, problem.output_width
    for i in range(problem.kernel[0]):
        for j in range(problem.kernel[1]):
            rows = slice(i, i + (height - 1) * down + 1, down)
            columns = slice(j, j + (width - 1) * across + 1, across)
            yield i, j, padded[..., rows, columns]


def refusal(problem: Convolution) -> str:
    """Nothing: the definition holds for every convolution."""
    return ""


def workspace(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes beyond input, weight and output."""
    channels = problem.in_channels + problem.out_channels
    area = problem.padded[0] * problem.padded[1]
    return 2 * problem.batch * channels * area * dtype.itemsize
