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
transforms and as many products. Numbers are held if the whole batch is done at once.

Winograd 1980; Mathieu, Henaff & LeCun 2014; Lavin & Gray 2016. What to look at: the kernel is in
the first two products alone, and each transform is shared: by K outputs, N images, C inputs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from ddl_runtime.core.checks import one_of, unknown
from ddl_teach.theory.convolution_sizes import Convolution
from ddl_teach.theory.convolution_tiles import tile_grid, transform_grid, transform_size

PASSES = ("forward", "input_gradient", "weight_gradient")


@dataclass(frozen=True)
class Operations:
    """Counts of multiplications and additions of real numbers."""

    multiplications: int = 0
    additions: int = 0

    @property
    def total(self) -> int:
        return self.multiplications + self.additions

    def times(self, count: int) -> Operations:
        return Operations(count * self.multiplications, count * self.additions)

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            self.multiplications + other.multiplications, self.additions + other.additions
        )


@dataclass(frozen=True)
class ConvolutionCost:
    """What one pass takes: operations by their kind, and how many numbers it holds and moves."""

    product: Operations  # sums over channels
    transforms: Operations = Operations()  # over the places of a tile or a kernel
    held: int = 0  # left by a stage for the next one
    moved: int = 0  # written or read by a stage

    @property
    def operations(self) -> int:
        return self.product.total + self.transforms.total


def cost(method: str, shape: Convolution, direction: str = "forward") -> ConvolutionCost:
    """What `method` ("direct", "im2col", "fft", "winograd_4x4", ...) takes for one pass."""
    one_of(direction, "pass", PASSES)
    if tile := re.fullmatch(r"winograd_([1-9]\d*)x\1", method):
        return winograd(shape, int(tile[1]), direction)
    known = {"direct": direct, "im2col": im2col, "fft": fft}
    if method not in known:
        raise ValueError(unknown("counted method", method, (*known, "winograd_4x4 or any MxM")))
    return known[method](shape, direction)


def direct(shape: Convolution, direction: str = "forward") -> ConvolutionCost:
    """The definition: every output is a sum over its channels and over the kernel."""
    outputs = shape.batch * shape.output_height * shape.output_width
    weights = math.prod(shape.weight_shape)
    axes = zip(shape.kernel, shape.stride, (shape.output_height, shape.output_width), strict=True)
    # The places of a padded image that some output sees.
    reached = math.prod((count - 1) * min(size, step) + size for size, step, count in axes)
    results = {
        "forward": outputs * shape.out_channels,
        "input_gradient": shape.batch * shape.in_channels * reached,
        "weight_gradient": weights,
    }[direction]
    # Each place of the kernel copies what it sees, and adds to what the others left.
    seen = outputs * (2 * shape.in_channels + 2 * shape.out_channels)
    # Images are padded and results cleared first, and every image reads all weights anew.
    moved = math.prod(shape.kernel) * seen + (shape.batch + 2) * weights + 2 * _data(shape)
    return ConvolutionCost(_sums(outputs * weights, results), moved=moved)


def im2col(shape: Convolution, direction: str = "forward") -> ConvolutionCost:
    """The operations of the definition, and a matrix with a column for each output."""
    outputs = shape.batch * shape.output_height * shape.output_width
    held = outputs * shape.in_channels * math.prod(shape.kernel)
    return ConvolutionCost(
        direct(shape, direction).product, held=held, moved=2 * _data(shape) + 2 * held
    )


def fft(shape: Convolution, direction: str = "forward") -> ConvolutionCost:
    """Transforms of overlapping tiles; for each frequency a complex product by three real ones.

    Columns, then rows are multiplied by Fourier's matrix, of which a filter, or what is kept of a
    tile, needs a part. A stride is taken by its phases.
    """
    inner, (height, width) = shape.at_stride_one, transform_size(shape, direction)
    kept = height - inner.kernel[0] + 1, width - inner.kernel[1] + 1
    halves, taps = width // 2 + 1, math.prod(inner.kernel)
    places = 3 * height * halves  # of frequencies, each by three real numbers
    tiles = shape.batch * math.prod(transform_grid(shape, direction))
    rows, columns = _matrix(3 * height, 2 * height), _matrix(2 * halves, width)
    there = columns.times(height) + rows.times(halves)
    if direction == "weight_gradient":
        # The gradient that arrives fills what is kept of its tiles; the rest is zero.
        rows, columns = _matrix(3 * height, 2 * kept[0]), _matrix(2 * halves, kept[1])
        filters = _matrix(taps, places)
    else:
        rows, columns = _matrix(2 * kept[0], 3 * height), _matrix(kept[1], 2 * halves)
        filters = _matrix(places, taps)
    back = columns.times(kept[0]) + rows.times(halves)
    cost, sources, sinks = _tiled(inner, direction, tiles, places, there, filters, back)
    # Pixels are turned, and copied as tiles; what comes back is put together and turned.
    pixels = tiles * (sources * height * width + sinks * math.prod(kept))
    return replace(cost, moved=2 * _data(shape) + 2 * pixels + 2 * cost.held)


def winograd(shape: Convolution, outputs: int, direction: str = "forward") -> ConvolutionCost:
    """Tiles with `outputs` x `outputs` results: fewer multiplications, and transforms for them,
    each one matrix for both axes, with its zeros.
    """
    places = math.prod(outputs + size - 1 for size in shape.kernel)
    tiles = shape.batch * math.prod(tile_grid(shape, outputs, direction))
    kernel, result = (places, math.prod(shape.kernel)), (outputs**2, places)
    if direction == "weight_gradient":  # these two run backwards, by transposed matrices
        kernel, result = kernel[::-1], result[::-1]
    transforms = _matrix(places, places), _matrix(*kernel), _matrix(*result)
    cost, _, _ = _tiled(shape, direction, tiles, places, *transforms)
    return replace(cost, moved=2 * _data(shape) + 3 * cost.held)


def _tiled(
    shape: Convolution, direction: str, tiles: int, places: int,
    source: Operations, kernel: Operations, sink: Operations,

) -> tuple[ConvolutionCost, int, int]:  # fmt: skip
    """The cost of tiles of `places` places, with the transforms of a tile from either end and of a
    kernel; and the channels of the tiles at both ends."""
    sources, sinks = shape.in_channels, shape.out_channels
    if direction == "input_gradient":
        sources, sinks = sinks, sources
    kernels = math.prod(shape.weight_shape[:2])
    results = kernels if direction == "weight_gradient" else tiles * sinks
    products = _sums(places * tiles * kernels, places * results)
    transforms = source.times(tiles * sources) + kernel.times(kernels) + sink.times(tiles * sinks)
    held = places * (tiles * (sources + sinks) + kernels)
    return ConvolutionCost(products, transforms, held), sources, sinks


def real_transform(height: int, width: int) -> Operations:
    """A Fourier transform of real numbers: half a complex one a row, then half of the columns.

    A complex one of n numbers takes n/2 log2 n butterflies of 4 multiplications and 6 additions
    each (Cooley & Tukey 1965): exact for powers of two, and the custom between them.
    """
    butterflies = height * width / 4 * math.log2(width)
    butterflies += (width // 2 + 1) * height / 2 * math.log2(height)
    return Operations(round(4 * butterflies), round(6 * butterflies))


def _sums(products: int, results: int) -> Operations:
    """The operations of `products` products that are added up to `results` sums."""
    return Operations(products, products - results)


def _data(shape: Convolution) -> int:
    """How many numbers go in and come out."""
    return sum(map(math.prod, (shape.x_shape, shape.output_shape, shape.weight_shape)))


def _matrix(rows: int, columns: int) -> Operations:
    """A matrix times a column, every number of it whether zero or not."""
    return _sums(rows * columns, rows)
