"""Convolution as one matrix product: im2col lays the input out so that each output has its column.

The column of output (p, q) holds the in_channels * kernel_height * kernel_width values under the
kernel there; the weight, with a row per output channel, times this matrix is the output. The
matrix is up to kernel_height * kernel_width times as large as the input. The input's gradient is
the transposed product, its columns added back to where they came from (col2im).

Cost: the multiplications of the definition, in a product that every library does at full speed.
Chellapilla, Puri & Simard, "High performance convolutional neural networks for document
processing", 2006. What to look at: it pays with memory; so the matrix is made block by block.
"""

from collections.abc import Iterator
from math import prod

import torch
from torch import Tensor

from ddl_teach.operators.convolution.blocks import BLOCK, block_size, blocks, room, window
from ddl_teach.operators.convolution.problem import Convolution

WIDE = 128  # columns from which on a product is fast


def forward(x: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
    """The output of the convolution."""
    matrix = weight.reshape(problem.groups, problem.out_channels // problem.groups, -1)
    output = x.new_empty(problem.output_shape)
    recorded = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    for images, rows in cut(problem, x.dtype):
        part, seen = output[images, :, rows].transpose(0, 1), columns(x[images], rows, problem)
        if part.shape[1] == 1 and not recorded:  # of one image the products lie as the output does
            torch.matmul(matrix, seen, out=part.view(*matrix.shape[:2], -1))
        else:
            part.copy_((matrix @ seen).view(part.shape))
        del seen  # or they would stand beside those of the next block
    return output


def input_gradient(gradient: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
    """The gradient of the loss by the input; `gradient` is that by the output."""
    matrix = weight.reshape(problem.groups, problem.out_channels // problem.groups, -1).mT
    total = gradient.new_zeros(problem.batch, problem.in_channels, *problem.padded)
    for images, rows in cut(problem, gradient.dtype):
        top, bottom, right = extent(problem, rows)
        seen = windows(total[images, :, top:bottom, :right], problem)
        spread = (matrix @ by_channel(gradient[images, :, rows], problem.groups)).view(seen.shape)
        for i in range(problem.kernel[0]):
            for j in range(problem.kernel[1]):
                # Within one kernel position no two windows overlap: each value is added once.
                seen[:, i, j] += spread[:, i, j]
        del spread  # or it would stand beside that of the next block
    top, left = problem.padding
    return total[:, :, top : top + problem.height, left : left + problem.width]


def weight_gradient(x: Tensor, gradient: Tensor, problem: Convolution) -> Tensor:
    """The gradient of the loss by the weight: a sum over the batch and over all positions."""
    total = x.new_zeros(problem.weight_shape)
    matrix = total.view(problem.groups, problem.out_channels // problem.groups, -1)
    for images, rows in cut(problem, x.dtype):
        arriving = by_channel(gradient[images, :, rows], problem.groups)
        matrix.baddbmm_(arriving, columns(x[images], rows, problem).mT)
    return total


def columns(x: Tensor, rows: slice, problem: Convolution) -> Tensor:
    """The matrices (groups, values under the kernel, outputs) of these rows of the output."""
    (top, bottom, right), (down, across) = extent(problem, rows), problem.padding
    seen = windows(window(x, top - down, bottom - down, -across, right - across), problem)
    return seen.reshape(problem.groups, -1, seen[0, 0, 0].numel())


def windows(padded: Tensor, problem: Convolution) -> Tensor:
    """A view (channels, kernel_height, kernel_width, images, rows, columns): what outputs see."""
    high = padded.unfold(2, problem.kernel[0], problem.stride[0])
    return high.unfold(3, problem.kernel[1], problem.stride[1]).permute(1, 4, 5, 0, 2, 3)


def extent(problem: Convolution, rows: slice) -> tuple[int, int, int]:
    """First row, end of the rows and of the columns of the padded input that these outputs see."""
    down, across = problem.stride
    bottom = (rows.stop - 1) * down + problem.kernel[0]
    return rows.start * down, bottom, (problem.output_width - 1) * across + problem.kernel[1]


def by_channel(gradient: Tensor, groups: int) -> Tensor:
    """The matrices (groups, output channels, outputs) of some images."""
    channels = gradient.shape[1] // groups
    return gradient.transpose(0, 1).reshape(groups, channels, -1)


def cut(problem: Convolution, dtype: torch.dtype) -> Iterator[tuple[slice, slice]]:
    """The output in blocks of images and rows whose columns stay in the caches."""
    return blocks(problem.batch, problem.output_height, *sizes(problem, dtype))


def sizes(problem: Convolution, dtype: torch.dtype) -> tuple[int, int]:
    """Bytes of a block for a row of outputs, and in all; images share one where each is thin."""
    values, width = problem.in_channels * prod(problem.kernel), problem.output_width
    wide = problem.output_height * width >= WIDE
    row = (values if wide else values + problem.out_channels) * width * dtype.itemsize
    most = max(2 * BLOCK, room(prod(problem.weight_shape) * dtype.itemsize))
    return row, min(most, problem.output_height * row) if wide else most


def workspace(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes beyond input, weight and output."""
    row, most = sizes(problem, dtype)
    images, rows = block_size(problem.batch, problem.output_height, row, most)
    _, bottom, right = extent(problem, slice(0, rows))
    padded = any(problem.padding) * images * bottom * right
    border = problem.batch * (prod(problem.padded) - problem.height * problem.width)
    return images * rows * row + problem.in_channels * max(padded, border) * dtype.itemsize
