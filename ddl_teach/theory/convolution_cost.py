"""What a convolution costs by each method: operations of transforms, of products, and memory.

With N images, C channels in, K out, g groups, kernels of R x S, outputs of P x Q, L(n) = log2 n:

=========== =============================== ================================== ===================
method      multiplications of the product  operations of the transforms       numbers it holds
=========== =============================== ================================== ===================
direct      N K P Q (C/g) R S               none                               none
im2col      the same                        none                               N C R S P Q
FFT, H x W  4 H (W/2+1) N K C/g             (N C + N K + K C/g) F(H, W),       2 H (W/2+1)
                                            F = 5/2 H W L(W) + 5 H (W/2+1)L(H) (NC + NK + KC/g)
Winograd    t t T K C/g                     T C and T K tiles, K C/g kernels,  t t (T C + T K
m x m                                       each a few products with t x t     + K C/g)
=========== =============================== ================================== ===================

where the tile is t = m + R - 1 and T = N ceil(P/m) ceil(Q/m) counts the tiles, ragged ones too.
A complex product is four real ones. Both gradients have the same three sets of transforms and as
many multiplications (Winograd's input gradient: over tiles of the input). A sum of n numbers takes
n - 1 additions, so there are as many additions as products, less one for each result.

Winograd 1980; Mathieu, Henaff & LeCun 2014; Lavin & Gray 2016. What to look at: the kernel is in
the first two products alone, and each transform is shared: by K outputs, N images, C inputs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Protocol

Pair = tuple[int, int]

PASSES = ("forward", "input_gradient", "weight_gradient")


class Shape(Protocol):
    """The sizes of a convolution, as `ddl_teach.operators.convolution.problem` has them."""

    batch: int
    in_channels: int
    height: int
    width: int
    out_channels: int
    kernel: Pair
    stride: Pair
    padding: Pair
    groups: int
    output_height: int
    output_width: int


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
class Cost:
    """What one pass takes: operations by their kind, and how many numbers it holds and moves.

    `product` sums over channels; `transform` is made by matrices, as Winograd's, `butterflies` are
    those of fast Fourier transforms. `held` are numbers that a stage leaves for the next one,
    `moved` those that are written or read by a stage.
    """

    product: Operations
    transform: Operations = Operations()
    butterflies: Operations = Operations()
    held: int = 0
    moved: int = 0

    @property
    def transforms(self) -> Operations:
        """Of both kinds."""
        return self.transform + self.butterflies

    @property
    def operations(self) -> int:
        """All of them, whatever their kind."""
        return self.product.total + self.transforms.total


def cost(method: str, shape: Shape, direction: str = "forward") -> Cost:
    """What `method` ("direct", "im2col", "fft", "winograd_4x4", ...) takes for one pass."""
    if direction not in PASSES:
        raise ValueError(f"direction={direction!r} is no pass; there are {', '.join(PASSES)}")
    if tile := re.fullmatch(r"winograd_([1-9]\d*)x\1", method):
        return winograd(shape, int(tile[1]), direction)
    known = {"direct": direct, "im2col": im2col, "fft": fft}
    if method not in known:
        raise ValueError(f"method={method!r} has no count; there are {', '.join(known)} and "
                         "winograd_MxM, as in winograd_4x4")  # fmt: skip
    return known[method](shape, direction)


def direct(shape: Shape, direction: str = "forward") -> Cost:
    """The definition: every output is a sum over its channels and over the kernel."""
    outputs = shape.batch * shape.output_height * shape.output_width
    weights = shape.out_channels * (shape.in_channels // shape.groups) * math.prod(shape.kernel)
    results = {
        "forward": outputs * shape.out_channels,
        "input_gradient": shape.batch * shape.in_channels * _seen(shape),
        "weight_gradient": weights,
    }[direction]
    # Each place of the kernel goes once through inputs and results, and reads what is there.
    moved = math.prod(shape.kernel) * (
        outputs * (shape.in_channels + 2 * shape.out_channels) + weights
    )
    return Cost(_sums(outputs * weights, results), moved=moved)


def im2col(shape: Shape, direction: str = "forward") -> Cost:
    """The operations of the definition, and a matrix with a column for each output."""
    outputs = shape.batch * shape.output_height * shape.output_width
    held = outputs * shape.in_channels * math.prod(shape.kernel)
    return Cost(direct(shape, direction).product, held=held, moved=_data(shape) + 2 * held)


def fft(shape: Shape, direction: str = "forward") -> Cost:
    """Transforms of all inputs, weights and outputs; a complex product for each frequency."""
    height, width = transform_size(shape)
    frequencies = height * (width // 2 + 1)
    sets = _sets(shape)
    product = frequencies * shape.batch * shape.out_channels * shape.in_channels // shape.groups
    sums = _sums(product, frequencies * sets[direction])
    # A complex product takes 4 multiplications and 2 additions, a complex addition 2.
    complex_sums = Operations(4 * product, 2 * product + 2 * sums.additions)
    every = sum(sets.values())
    held = 2 * frequencies * every
    butterflies = real_transform(height, width).times(every)
    moved = _data(shape) + 2 * held
    return Cost(complex_sums, butterflies=butterflies, held=held, moved=moved)


def winograd(shape: Shape, outputs: int, direction: str = "forward") -> Cost:
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
    places, weights, results_of_one = math.prod(tile), math.prod(shape.kernel), outputs**2
    transform = (
        _matrix(places, places).times(tiles * sources)
        + _matrix(places, weights).times(kernels)
        + _matrix(results_of_one, places).times(tiles * sinks)
    )
    if direction == "weight_gradient":  # two of the three run backwards, by transposed matrices
        transform = (
            _matrix(places, places).times(tiles * sources)
            + _matrix(weights, places).times(kernels)
            + _matrix(places, results_of_one).times(tiles * sinks)
        )
    held = math.prod(tile) * (tiles * (sources + sinks) + kernels)
    products = _sums(product, math.prod(tile) * results)
    return Cost(products, transform, held=held, moved=_data(shape) + 2 * held)


def transform_size(shape: Shape) -> Pair:
    """The size of the transforms: the padded input, to the next size of primes 2, 3 and 5."""
    padded = shape.height + 2 * shape.padding[0], shape.width + 2 * shape.padding[1]
    return _smooth(padded[0]), _smooth(padded[1])


def real_transform(height: int, width: int) -> Operations:
    """A Fourier transform of real numbers: half a complex one a row, then half of the columns.

    A complex one of n numbers takes n/2 log2 n butterflies of 4 multiplications and 6 additions
    each (Cooley & Tukey 1965): exact for powers of two, and the custom between them.
    """
    butterflies = height * width / 4 * math.log2(width)
    butterflies += (width // 2 + 1) * height / 2 * math.log2(height)
    return Operations(round(4 * butterflies), round(6 * butterflies))


def tile_grid(shape: Shape, outputs: int, direction: str = "forward") -> Pair:
    """How many tiles there are below and beside each other; the last may be ragged."""
    height, width = shape.output_height, shape.output_width
    if direction == "input_gradient":
        height, width = shape.height, shape.width
    return -(-height // outputs), -(-width // outputs)


def _sums(products: int, results: int) -> Operations:
    """So many products, added up to so many results."""
    return Operations(products, products - results)


def _data(shape: Shape) -> int:
    """How many numbers go in and come out."""
    inputs = shape.batch * shape.in_channels * shape.height * shape.width
    outputs = shape.batch * shape.out_channels * shape.output_height * shape.output_width
    weights = shape.out_channels * (shape.in_channels // shape.groups) * math.prod(shape.kernel)
    return inputs + outputs + weights


def _seen(shape: Shape) -> int:
    """How many places of a padded image some output sees."""
    places = 1
    for size, step, outputs in zip(
        shape.kernel, shape.stride, (shape.output_height, shape.output_width), strict=True
    ):
        places *= (outputs - 1) * min(size, step) + size
    return places


def _sets(shape: Shape) -> dict[str, int]:
    """How many images are transformed, by the pass whose result they are."""
    return {
        "forward": shape.batch * shape.out_channels,
        "input_gradient": shape.batch * shape.in_channels,
        "weight_gradient": shape.out_channels * shape.in_channels // shape.groups,
    }


def _matrix(rows: int, columns: int) -> Operations:
    """A matrix times a column, every number of it whether zero or not."""
    return _sums(rows * columns, rows)


def _smooth(least: int) -> int:
    """The smallest number from `least` on without a prime factor above 5."""
    size = least
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1
