"""What a convolution costs by each method: operations of transforms, of products, and memory.

With N images, C channels in, K out, g groups, kernels of R x S and outputs of P x Q:

======== ============================ ================================ ==========================
method   multiplications of products  transforms                       numbers held
======== ============================ ================================ ==========================
direct   N K P Q (C/g) R S            none                             none
im2col   the same                     none                             N C R S P Q
FFT      3 F T K C/g                  T C and T K tiles of h x w,      3 F (T C + T K + K C/g)
                                      K C/g filters of R S to 3 F
Winograd t t T K C/g                  T C and T K tiles of t x t,      t t (T C + T K + K C/g)
                                      K C/g filters of R S to t t
======== ============================ ================================ ==========================

T counts tiles, ragged ones too: N ceil(P / m) ceil(Q / m) where a tile gives m x m outputs.
Winograd's has t = m + R - 1. The FFT's is h x w and gives h - R + 1 rows; it has F = h (w/2 + 1)
frequencies, and a complex product is three real ones. Both gradients have the same three sets of
transforms and as many products (the input's gradient: over tiles of the input). A sum of n numbers
takes n - 1 additions. Numbers are held if the whole batch is done at once: in blocks, fewer.

Winograd 1980; Mathieu, Henaff & LeCun 2014; Lavin & Gray 2016. What to look at: the kernel is in
the first two products alone, and each transform is shared: by K outputs, N images, C inputs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ddl_teach.theory.convolution_tiles import (
    ConvolutionShape,
    phases,
    tile_grid,
    transform_grid,
    transform_size,
)

PASSES = ("forward", "input_gradient", "weight_gradient")


@dataclass(frozen=True)
class Operations:
    """Multiplications and additions of real numbers."""

    multiplications: int = 0
    additions: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.multiplications + self.additions

    def times(self, count: int) -> Operations:
        """So many times as much."""
        return Operations(count * self.multiplications, count * self.additions)

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            self.multiplications + other.multiplications, self.additions + other.additions
        )


@dataclass(frozen=True)
class ConvolutionCost:
    """What one pass takes: operations by their kind, and how many numbers it holds and moves.

    `product` sums over channels, `transforms` over the places of a tile or a kernel. `held` are
    numbers that a stage leaves for the next one, `moved` those that a stage writes or reads.
    """

    product: Operations
    transforms: Operations = Operations()
    held: int = 0
    moved: int = 0

    @property
    def operations(self) -> int:
        """All of them, whatever their kind."""
        return self.product.total + self.transforms.total


def cost(method: str, shape: ConvolutionShape, direction: str = "forward") -> ConvolutionCost:
    """What `method` ("direct", "im2col", "fft", "winograd_4x4", ...) takes for one pass."""
    if direction not in PASSES:
        raise ValueError(f"direction={direction!r} is no pass; there are {', '.join(PASSES)}")
    if tile := re.fullmatch(r"winograd_([1-9]\d*)x\1", method):
        return winograd(shape, int(tile[1]), direction)
    known = {"direct": direct, "im2col": im2col, "fft": fft}
    if method not in known:
        names = f"{', '.join(known)} and winograd_MxM, as in winograd_4x4"
        raise ValueError(f"method={method!r} has no count; there are {names}")
    return known[method](shape, direction)


def direct(shape: ConvolutionShape, direction: str = "forward") -> ConvolutionCost:
    """The definition: every output is a sum over its channels and over the kernel."""
    outputs = shape.batch * shape.output_height * shape.output_width
    weights = _weights(shape)
    results = {
        "forward": outputs * shape.out_channels,
        "input_gradient": shape.batch * shape.in_channels * _seen(shape),
        "weight_gradient": weights,
    }[direction]
    # Each place of the kernel copies what it sees, and adds to what the others left.
    seen = outputs * (2 * shape.in_channels + 2 * shape.out_channels)
    # Images are padded and results cleared first, and every image reads all weights anew.
    moved = math.prod(shape.kernel) * seen + (shape.batch + 2) * weights + 2 * _data(shape)
    return ConvolutionCost(_sums(outputs * weights, results), moved=moved)


def im2col(shape: ConvolutionShape, direction: str = "forward") -> ConvolutionCost:
    """The operations of the definition, and a matrix with a column for each output."""
    outputs = shape.batch * shape.output_height * shape.output_width
    held = outputs * shape.in_channels * math.prod(shape.kernel)
    return ConvolutionCost(
        direct(shape, direction).product, held=held, moved=2 * _data(shape) + 2 * held
    )


def fft(shape: ConvolutionShape, direction: str = "forward") -> ConvolutionCost:
    """Transforms of overlapping tiles; for each frequency a complex product by three real ones.

    Columns, then rows are multiplied by Fourier's matrix, of which a filter, or what is kept of a
    tile, needs a part. A stride is taken by its phases: so many times as many channels, and
    smaller kernels.
    """
    channels, kernel, _ = phases(shape)
    height, width = transform_size(shape, direction)
    kept = height - kernel[0] + 1, width - kernel[1] + 1
    halves = width // 2 + 1
    frequencies, taps = height * halves, math.prod(kernel)
    tiles = shape.batch * math.prod(transform_grid(shape, direction))
    filters = shape.out_channels * channels // shape.groups
    there = _matrix(2 * halves, width).times(height) + _matrix(3 * height, 2 * height).times(
        halves
    )
    back = _matrix(2 * kept[0], 3 * height).times(halves) + _matrix(kept[1], 2 * halves).times(
        kept[0]
    )
    # The gradient that arrives fills what is kept of its tiles; the rest is zero.
    arriving = _matrix(2 * halves, kept[1]).times(kept[0]) + _matrix(
        3 * height, 2 * kept[0]
    ).times(halves)
    sources, sinks = channels, shape.out_channels
    if direction == "input_gradient":
        sources, sinks = sinks, sources
    transforms = there.times(tiles * sources)
    if direction == "weight_gradient":
        results = filters
        transforms += arriving.times(tiles * sinks) + _matrix(taps, 3 * frequencies).times(filters)
    else:
        results = tiles * sinks
        transforms += back.times(results) + _matrix(3 * frequencies, taps).times(filters)
    products = _sums(3 * frequencies * tiles * filters, 3 * frequencies * results)
    held = 3 * frequencies * (tiles * (sources + sinks) + filters)
    # Pixels are turned, and copied as tiles; what comes back is put together and turned.
    pixels = tiles * (sources * height * width + sinks * math.prod(kept))
    return ConvolutionCost(products, transforms, held, 2 * _data(shape) + 2 * pixels + 2 * held)


def winograd(shape: ConvolutionShape, outputs: int, direction: str = "forward") -> ConvolutionCost:
    """Tiles with `outputs` x `outputs` results: fewer multiplications, and transforms for them.

    A transform is one matrix for both axes, with its zeros; who leaves those out takes fewer.
    """
    tile = [outputs + size - 1 for size in shape.kernel]
    tiles = shape.batch * math.prod(tile_grid(shape, outputs, direction))
    kernels = shape.out_channels * shape.in_channels // shape.groups
    product = math.prod(tile) * tiles * kernels
    results = {
        "forward": tiles * shape.out_channels,
        "input_gradient": tiles * shape.in_channels,
        "weight_gradient": kernels,
    }[direction]
    sources, sinks = shape.in_channels, shape.out_channels
    if direction == "input_gradient":
        sources, sinks = sinks, sources
    places = math.prod(tile)
    kernel, result = (places, math.prod(shape.kernel)), (outputs**2, places)
    if direction == "weight_gradient":  # these two run backwards, by transposed matrices
        kernel, result = kernel[::-1], result[::-1]
    transform = (
        _matrix(places, places).times(tiles * sources)
        + _matrix(*kernel).times(kernels)
        + _matrix(*result).times(tiles * sinks)
    )
    held = math.prod(tile) * (tiles * (sources + sinks) + kernels)
    products = _sums(product, math.prod(tile) * results)
    return ConvolutionCost(products, transform, held, 2 * _data(shape) + 3 * held)


def real_transform(height: int, width: int) -> Operations:
    """A Fourier transform of real numbers: half a complex one a row, then half of the columns.

    A complex one of n numbers takes n/2 log2 n butterflies of 4 multiplications and 6 additions
    each (Cooley & Tukey 1965): exact for powers of two, and the custom between them.
    """
    butterflies = height * width / 4 * math.log2(width)
    butterflies += (width // 2 + 1) * height / 2 * math.log2(height)
    return Operations(round(4 * butterflies), round(6 * butterflies))


def _sums(products: int, results: int) -> Operations:
    """So many products, added up to so many results."""
    return Operations(products, products - results)


def _data(shape: ConvolutionShape) -> int:
    """How many numbers go in and come out."""
    inputs = shape.batch * shape.in_channels * shape.height * shape.width
    outputs = shape.batch * shape.out_channels * shape.output_height * shape.output_width
    return inputs + outputs + _weights(shape)


def _weights(shape: ConvolutionShape) -> int:
    return shape.out_channels * (shape.in_channels // shape.groups) * math.prod(shape.kernel)


def _seen(shape: ConvolutionShape) -> int:
    """How many places of a padded image some output sees."""
    axes = zip(shape.kernel, shape.stride, (shape.output_height, shape.output_width), strict=True)
    return math.prod((outputs - 1) * min(size, step) + size for size, step, outputs in axes)


def _matrix(rows: int, columns: int) -> Operations:
    """A matrix times a column, every number of it whether zero or not."""
    return _sums(rows * columns, rows)
