"""Convolution as one matrix product: im2col lays the input out so that each output has its column.

The column of output (p, q) holds the in_channels * kernel_height * kernel_width values under the
kernel there; the weight, as a matrix with a row per output channel, times this matrix is the
output. A column repeats its neighbours' values: the matrix is up to kernel_height * kernel_width
times as large as the input. The input's gradient is the transposed product, its columns added
back to where they came from (col2im).

Cost: the multiplications of the definition, in one product that every library does at full speed.
Chellapilla, Puri & Simard, "High performance convolutional neural networks for document
processing", 2006. What to look at: memory, not operations, is what im2col pays with.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from ddl_teach.operators.convolution.problem import Convolution, Pair


def forward(
    x: Tensor, weight: Tensor, *, stride: Pair = (1, 1), padding: Pair = (0, 0), groups: int = 1
) -> Tensor:
    """The output of the convolution."""
    problem = Convolution.of(x, weight, stride, padding, groups)
    padded = pad(x, (padding[1], padding[1], padding[0], padding[0]))
    output = weight.reshape(groups, -1, rows(problem)) @ columns(padded, problem)
    return output.reshape(problem.output_shape)


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
    gradient = gradient.unflatten(1, (groups, -1)).flatten(3)
    spread = weight.reshape(groups, -1, rows(problem)).mT @ gradient
    total = gradient.new_zeros(problem.batch, problem.in_channels, *problem.padded)
    seen = windows(total, problem)
    spread = spread.view(seen.shape)
    for i in range(problem.kernel[0]):
        for j in range(problem.kernel[1]):
            # Within one kernel position no two windows overlap, so this adds each value once.
            seen[:, :, i, j] += spread[:, :, i, j]
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
    return (gradient @ columns(padded, problem).mT).sum(0).reshape(problem.weight_shape)


def rows(problem: Convolution) -> int:
    """How many values lie under the kernel: the height of the matrix of columns."""
    return problem.in_channels // problem.groups * problem.kernel[0] * problem.kernel[1]


def windows(padded: Tensor, problem: Convolution) -> Tensor:
    """A view (batch, channels, kernel_height, kernel_width, height, width) on what outputs see."""
    image, channel, row, column = padded.stride()
    (down, across) = problem.stride
    return padded.as_strided(
        (*padded.shape[:2], *problem.kernel, problem.output_height, problem.output_width),
        (image, channel, row, column, row * down, column * across),
    )


def columns(padded: Tensor, problem: Convolution) -> Tensor:
    """The matrix (batch, groups, values under the kernel, outputs)."""
    outputs = problem.output_height * problem.output_width
    return windows(padded, problem).reshape(problem.batch, problem.groups, rows(problem), outputs)


def refusal(problem: Convolution) -> str:
    """Nothing: every convolution can be laid out in columns."""
    return ""


def workspace(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes beyond input, weight and output."""
    outputs = problem.batch * problem.output_height * problem.output_width
    padded = problem.batch * problem.in_channels * problem.padded[0] * problem.padded[1]
    return (rows(problem) * problem.groups * outputs + padded) * dtype.itemsize
