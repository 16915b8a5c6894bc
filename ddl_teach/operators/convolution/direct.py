"""Direct convolution: the definition, one kernel position at a time.

For kernel position (i, j) every output sees one input value: a view of x, shifted by (i, j) and
taken with the stride. The sum over channels is a matrix product, and kernel_height * kernel_width
of those are added up. Workspace: one padded image and one shifted view of it.

Cost: batch * out_channels * out_height * out_width * in_channels / groups * kernel_height *
kernel_width multiplications, and as many additions. All three passes are the same loop.
"""

from collections.abc import Iterator
from math import prod

import torch
from torch import Tensor

from ddl_teach.operators.convolution.blocks import window
from ddl_teach.operators.convolution.filters import by_filter, by_place
from ddl_teach.operators.convolution.problem import Convolution


def forward(x: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
    """The output of the convolution."""
    places = by_place(weight, problem.groups).mT.unflatten(0, problem.kernel)
    output = x.new_zeros(problem.output_shape)
    for image, result in zip(x.split(1), output, strict=True):
        total = result.unflatten(0, (problem.groups, -1)).flatten(2)
        for i, j, seen in shifted(padded(image, problem), problem):
            total.baddbmm_(places[i, j], seen.flatten(2))
    return output


def input_gradient(gradient: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
    """The gradient of the loss by the input; `gradient` is that by the output."""
    places = by_place(weight, problem.groups).unflatten(0, problem.kernel)
    result = gradient.new_empty(problem.x_shape)
    for arriving, image in zip(gradient, result.split(1), strict=True):
        arriving = arriving.unflatten(0, (problem.groups, -1)).flatten(2)
        total = gradient.new_zeros(
            problem.groups, problem.in_channels // problem.groups, *problem.padded
        )
        for i, j, seen in shifted(total, problem):
            seen += (places[i, j] @ arriving).view(seen.shape)
        top, left = problem.padding
        inside = total[..., top : top + problem.height, left : left + problem.width]
        image.copy_(inside.flatten(0, 1))
    return result


def weight_gradient(x: Tensor, gradient: Tensor, problem: Convolution) -> Tensor:
    """The gradient of the loss by the weight: a sum over the batch and over all positions."""
    channels = problem.in_channels // problem.groups, problem.out_channels // problem.groups
    total = x.new_zeros(*problem.kernel, problem.groups, *channels)
    for image, arriving in zip(x.split(1), gradient, strict=True):
        arriving = arriving.unflatten(0, (problem.groups, -1)).flatten(2)
        for i, j, seen in shifted(padded(image, problem), problem):
            total[i, j].baddbmm_(seen.flatten(2), arriving.mT)
    return by_filter(total.flatten(0, 1), problem)


def padded(image: Tensor, problem: Convolution) -> Tensor:
    """One image with its border of zeros, by groups of channels."""
    (top, left), (height, width) = problem.padding, problem.padded
    whole = window(image, -top, height - top, -left, width - left)
    return whole[0].unflatten(0, (problem.groups, -1))


def shifted(padded: Tensor, problem: Convolution) -> Iterator[tuple[int, int, Tensor]]:
    """For each kernel position, the view of the padded image that the outputs see through it."""
    (down, across) = problem.stride
    height, width = problem.output_height, problem.output_width
    for i in range(problem.kernel[0]):
        for j in range(problem.kernel[1]):
            rows = slice(i, i + (height - 1) * down + 1, down)
            columns = slice(j, j + (width - 1) * across + 1, across)
            yield i, j, padded[..., rows, columns]


def workspace(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes beyond input, weight and output, in the hungriest of the three passes."""
    # One is made while the last still stands.
    images = 2 * problem.in_channels * prod(problem.padded)
    view = problem.in_channels * problem.output_height * problem.output_width
    weights = 2 * prod(problem.weight_shape)
    return (images + view + weights) * dtype.itemsize
