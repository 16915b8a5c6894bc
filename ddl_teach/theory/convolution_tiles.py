"""How an image is cut into tiles: for Winograd's convolution, and for the Fourier transform.

A tile of t x t pixels gives (t - R + 1)^2 outputs of a kernel of R x R. So tiles overlap by R - 1;
the last may be ragged. Winograd names the outputs, F(m x m, R x R), and t follows; for the FFT t
is four times the kernel: larger tiles waste less at their borders, and take longer to transform. A
stride is taken apart: rows p s + i meet weight i alone, so the phases of image and kernel become
channels of a convolution without stride. What to look at: a small image is a single tile.
"""

from itertools import count

from ddl_teach.theory.convolution_sizes import Convolution, Pair


def transform_size(shape: Convolution, direction: str = "forward") -> Pair:
    """Height and width of a tile that is transformed: the power of two from four times the kernel
    on. It is no more than the padded image, rounded up to primes 2, 3 and 5."""
    inner = shape.at_stride_one
    image, kernel = inner.padded, inner.kernel
    if direction == "input_gradient":
        image = inner.height + kernel[0] - 1, inner.width + kernel[1] - 1
    axes = zip(image, kernel, strict=True)
    rows, columns = (min(_smooth(size), 1 << (4 * tap - 1).bit_length()) for size, tap in axes)
    return rows, columns


def transform_grid(shape: Convolution, direction: str = "forward") -> Pair:
    """How many such tiles there are: each gives the outputs whose kernel does not leave it."""
    inner, outputs = shape.at_stride_one, (shape.output_height, shape.output_width)
    if direction == "input_gradient":
        outputs = inner.height, inner.width
    axes = zip(outputs, transform_size(shape, direction), inner.kernel, strict=True)
    rows, columns = (-(-number // (size - tap + 1)) for number, size, tap in axes)
    return rows, columns


def tile_grid(shape: Convolution, outputs: int, direction: str = "forward") -> Pair:
    """How many tiles there are below and beside each other; the last may be ragged."""
    height, width = shape.output_height, shape.output_width
    if direction == "input_gradient":
        height, width = shape.height, shape.width
    return -(-height // outputs), -(-width // outputs)


def _smooth(least: int) -> int:
    """The smallest number from `least` on without a prime factor above 5: it divides 30^k."""
    return next(size for size in count(least) if 30 ** size.bit_length() % size == 0)
