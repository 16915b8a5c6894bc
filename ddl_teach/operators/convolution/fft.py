"""Convolution by the Fourier transform: a shift is a phase, so a sum over shifts is one product.

    Y[o, f] = sum over c of  X[c, f] * conj(W[o, c, f])      for each frequency f

The transform of a tile wraps round only where the kernel leaves the tile; those outputs are not
kept, and the next tile begins where the kept ones end (overlap and save). Real data need half of
the frequencies; a complex product needs three real ones (Gauss), so each frequency is three matrix
products of channels.

A tile is transformed in two stages of radix `tile`, its columns and then its rows, each a product
with Fourier's matrix. Stages of radix 2 (Cooley & Tukey, 1965) take fewer operations, 5/2 tile^2
log2(tile^2) instead of about 9 tile^3, but slower ones; a product leaves numbers in the order in
which the next product reads them, channels last.

Cost of the products: 3 * frequencies * tiles * in_channels * out_channels, whatever the kernel,
with tile * (tile / 2 + 1) frequencies. Mathieu et al. 2014. What to look at: transforms grow with
the number of channels, products with its square.
"""

from collections.abc import Iterator
from math import prod

import torch
from torch import Tensor

from ddl_teach.operators.convolution import phases
from ddl_teach.operators.convolution.blocks import evenly
from ddl_teach.operators.convolution.filters import by_filter, by_place, turned
from ddl_teach.operators.convolution.fourier import Fourier
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.tiles import Tiling, assemble
from ddl_teach.theory.convolution_tiles import transform_grid, transform_size

HELD = 32 << 20  # bytes of all filters' spectra up to which they are made once for all blocks
PART = 3 << 20  # bytes of those that are made for a few frequencies at a time


def forward(x: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
    """The output of the convolution."""
    inner = problem.at_stride_one
    x = phases.split(x, problem.padding, inner.x_shape[2:], problem)
    return correlate(x, phases.split(weight, (0, 0), inner.kernel, problem), inner)


def input_gradient(gradient: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
    """The gradient of the loss by the input: a convolution of that by the output."""
    inner = problem.at_stride_one
    weight = phases.split(weight, (0, 0), inner.kernel, problem)
    result = correlate(*turned(gradient, weight, inner))
    return phases.merge(result, problem.padding, problem.x_shape[2:], problem)


def weight_gradient(x: Tensor, gradient: Tensor, problem: Convolution) -> Tensor:
    """The gradient of the loss by the weight: products of the spectra of `x` and of `gradient`."""
    inner = problem.at_stride_one
    x = phases.split(x, problem.padding, inner.x_shape[2:], problem)
    fourier = Fourier(transform_size(inner), single_or_double(x.dtype), x.device)
    back = fourier.kernels_back(inner.kernel)
    total = back.new_zeros(prod(inner.kernel), prod(inner.weight_shape[:2]))
    cut = tiling(inner, x.dtype)
    for images, rows in cut.blocks():
        seen = fourier.spectra(cut.tiles(x[images], rows, fourier.sizes, inner.padding))
        arriving = fourier.spectra(cut.tiles(gradient[images], rows, cut.steps), factor=True)
        for part in slices(cut):
            products = seen[part].flatten(3, 5).mT @ arriving[part].flatten(3, 5)
            total.addmm_(back[part].flatten(0, 1).mT, products.flatten(2).flatten(0, 1))
            del products  # or they would stand beside those of the next part
        del seen, arriving
    places = total.unflatten(1, (inner.groups, inner.in_channels // inner.groups, -1))
    weight = phases.merge(by_filter(places, inner), (0, 0), problem.kernel, problem)
    return weight.to(x.dtype)


def correlate(x: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
    """The convolution at stride one."""
    fourier = Fourier(transform_size(problem), single_or_double(x.dtype), x.device)
    there = fourier.kernels(problem.kernel)
    taps = by_place(weight.to(there.dtype), problem.groups)
    output = x.new_empty(problem.output_shape)
    cut = tiling(problem, x.dtype)
    parts = list(slices(cut))
    filters = there.new_empty(parts[0].stop, 3, *taps.shape[1:])
    for images, rows in cut.blocks():
        seen = fourier.spectra(cut.tiles(x[images], rows, fourier.sizes, problem.padding))
        grid, seen = seen.shape[3:6], seen.flatten(3, 5)
        products = seen.new_empty(*seen.shape[:-1], taps.shape[3])
        for part in parts:
            own = filters[: len(there[part])]
            if len(parts) > 1 or images.start == rows.start == 0:
                into = own.flatten(0, 1).flatten(1)
                torch.mm(there[part].flatten(0, 1), taps.flatten(1), out=into)
            torch.matmul(seen[part], own, out=products[part])
        del seen  # or it would stand beside that of the next block
        result = fourier.tiles(products, cut.steps).unflatten(3, grid)
        del products
        assemble(result, output[images], rows.start * cut.steps[0])
        del result
    return output


def single_or_double(dtype: torch.dtype) -> torch.dtype:
    """What the transforms of such data are computed in."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def tiling(problem: Convolution, dtype: torch.dtype) -> Tiling:
    """Tiles that each give the outputs for which the kernel does not wrap round."""
    size, kernel = transform_size(problem), problem.kernel
    kept = size[0] - kernel[0] + 1, size[1] - kernel[1] + 1
    numbers = 3 * size[0] * (size[1] // 2 + 1)  # half of the frequencies of real data say all
    return Tiling(problem, transform_grid(problem), kept, numbers, single_or_double(dtype))


def slices(cut: Tiling) -> Iterator[slice]:
    """The frequencies in parts: one if all filters' spectra are kept, else as a cache holds. Each
    part reads the whole weight, so it has two at least."""
    total, whole = cut.numbers // 3, cut.filter_bytes
    some = total if whole <= HELD else evenly(total, max(2, PART * total // whole))
    return (slice(first, first + some) for first in range(0, total, some))


def workspace(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes beyond input, weight and output, at most, in the hungriest of the three passes."""
    inner = problem.at_stride_one
    cut, (height, width) = tiling(inner, dtype), transform_size(inner)
    fewer, more = sorted((inner.in_channels, inner.out_channels))
    # Spectra of both, or those of one, half transformed, as tiles and as pixels.
    tile = height * (width + 2) * (2 * more + fewer)
    frequencies = cut.numbers // 3
    some = next(slices(cut)).stop / frequencies
    # With a stride the input's phases, and what they are made from.
    strided, walked = problem.stride != (1, 1), prod(problem.stride)
    whole = inner.batch * problem.in_channels * inner.height * inner.width * walked
    return (
        cut.in_a_block() * (cut.row_bytes + cut.grid[1] * tile * cut.dtype.itemsize)
        + round(2 * some * cut.filter_bytes)
        + 3 * prod(inner.weight_shape) * cut.dtype.itemsize  # the input gradient turns them
        + 12 * frequencies * (prod(inner.kernel) + 8) * 8
        + strided * (2 * whole + prod(inner.x_shape)) * dtype.itemsize
    )
