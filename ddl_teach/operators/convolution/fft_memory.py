"""The memory that a convolution by the Fourier transform takes, counted before any is taken."""

from __future__ import annotations

from math import prod

import torch

from ddl_teach.operators.convolution.blocks import block_size, room
from ddl_teach.operators.convolution.fft import (
    filter_bytes,
    frequencies,
    row_bytes,
    single_or_double,
    slices,
)
from ddl_teach.operators.convolution.phases import at_stride_one
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.convolution_tiles import transform_grid, transform_size


def workspace(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes beyond input, weight and output, at most, in the hungriest of the three passes."""
    inner, itemsize = at_stride_one(problem), single_or_double(dtype).itemsize
    (high, wide), (height, width) = transform_grid(inner), transform_size(inner)
    needed = room(filter_bytes(inner, dtype))
    images, rows = block_size(inner.batch, high, row_bytes(inner, dtype), needed)
    fewer, more = sorted((inner.in_channels, inner.out_channels))
    # Spectra of both, or those of one, half transformed, as tiles and as pixels.
    spectra = images * rows * row_bytes(inner, dtype)
    tile = height * (width + 2) * (2 * more + fewer)
    some = next(slices(inner, dtype)).stop / frequencies(inner)
    filters = 2 * some * filter_bytes(inner, dtype)
    return (
        spectra
        + images * rows * wide * tile * itemsize
        + round(filters)
        + 2 * prod(inner.weight_shape) * itemsize
        + 12 * frequencies(inner) * (prod(inner.kernel) + 8) * 8
        + of_phases(problem, dtype)
    )


def of_phases(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes of the input's phases, and of what they are made from."""
    if problem.stride == (1, 1):
        return 0
    inner, (down, across) = at_stride_one(problem), problem.stride
    whole = inner.batch * problem.in_channels * inner.height * down * inner.width * across
    return (2 * whole + prod(inner.x_shape)) * dtype.itemsize
