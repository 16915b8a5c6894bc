"""How an image is cut into tiles: for Winograd's convolution, and for the Fourier transform.

A tile of t x t pixels gives (t - R + 1)^2 outputs of a kernel of R x R, so tiles overlap by R - 1
and the last may be ragged. Winograd names the outputs, F(m x m, R x R), and t follows; for the FFT
t is four times the kernel: larger tiles waste less at their borders, and take longer to transform.
A stride is taken apart: rows p s + i meet weight i alone, so the phases of image and kernel become
channels of a convolution without stride. What to look at: a small image is a single tile.
"""

import math
from itertools import count
from typing import Protocol

Pair = tuple[int, int]


class ConvolutionShape(Protocol):
    """The sizes of a convolution, as `ddl_teach.operators.convolution.problem` has them."""

    @property
    def batch(self) -> int: ...
    @property
    def in_channels(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def out_channels(self) -> int: ...
    @property
    def kernel(self) -> Pair: ...
    @property
    def stride(self) -> Pair: ...
    @property
    def padding(self) -> Pair: ...
    @property
    def groups(self) -> int: ...
    @property
    def output_height(self) -> int: ...
    @property
    def output_width(self) -> int: ...


def transform_size(shape: ConvolutionShape, direction: str = "forward") -> Pair:
    """Height and width of a tile that is transformed: the power of two from four times the kernel
    on. It is no more than the padded image, rounded up to primes 2, 3 and 5."""
    _, kernel, image = phases(shape)
    if direction == "input_gradient":
        height, width = _image(shape)
        image = height + kernel[0] - 1, width + kernel[1] - 1
    axes = zip(image, kernel, strict=True)
    rows, columns = (min(_smooth(size), 1 << (4 * tap - 1).bit_length()) for size, tap in axes)
    return rows, columns


def transform_grid(shape: ConvolutionShape, direction: str = "forward") -> Pair:
    """How many such tiles there are: each gives the outputs whose kernel does not leave it."""
    outputs = shape.output_height, shape.output_width
    if direction == "input_gradient":
        outputs = _image(shape)
    sizes, kernel = transform_size(shape, direction), phases(shape)[1]
    axes = zip(outputs, sizes, kernel, strict=True)
    rows, columns = (-(-number // (size - tap + 1)) for number, size, tap in axes)
    return rows, columns


def tile_grid(shape: ConvolutionShape, outputs: int, direction: str = "forward") -> Pair:
    """How many tiles there are below and beside each other; the last may be ragged."""
    height, width = shape.output_height, shape.output_width
    if direction == "input_gradient":
        height, width = shape.height, shape.width
    return -(-height // outputs), -(-width // outputs)


def phases(shape: ConvolutionShape) -> tuple[int, Pair, Pair]:
    """Channels, kernel and padded image of the same convolution with its stride taken apart."""
    padded = shape.height + 2 * shape.padding[0], shape.width + 2 * shape.padding[1]
    if shape.stride == (1, 1):
        return shape.in_channels, shape.kernel, padded
    pairs = list(zip(shape.kernel, shape.stride, strict=True))
    channels = shape.in_channels * math.prod(min(pair) for pair in pairs)
    rows, columns = (-(-size // step) for size, step in pairs)
    image = shape.output_height + rows - 1, shape.output_width + columns - 1
    return channels, (rows, columns), image


def _image(shape: ConvolutionShape) -> Pair:
    """What has a gradient: the image, or its phases."""
    return (shape.height, shape.width) if shape.stride == (1, 1) else phases(shape)[2]


def _smooth(least: int) -> int:
    """The smallest number from `least` on without a prime factor above 5: it divides 30^k."""
    return next(size for size in count(least) if 30 ** size.bit_length() % size == 0)
