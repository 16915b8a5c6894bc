"""The judges of unit 02: im2col's matrix, Winograd's tiles, the FFT, and where two counts meet.

That a result is right does not show how it was found. Rounding does: a huge pixel that the kernel
multiplies by zero leaves no trace in a direct convolution, but Winograd's tile adds it to its
neighbours before it takes it away again, and the FFT adds it to the whole image.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit.answers import not_none, number
from ddl_class.exercises.kit.compare import alike, compare, first_case, refuse_if, within

TOLERANCE = 1e-8
HUGE = 1e17  # beside it a double has no room for numbers around one


def judge_im2col(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Rows are weights, channel by channel; columns are outputs, image by image."""
    for kernel, stride in ((1, 1), (2, 1), (3, 1), (3, 2), (5, 3), (2, 2)):
        height, width = (int(kernel + generator.integers(2, 8)) for _ in "hw")
        x = generator.standard_normal((int(generator.integers(2, 4)), 3, height, width))
        windows = _windows(x, kernel)
        strided = windows[:, :, ::stride, ::stride]
        rows = 3 * kernel * kernel

        def matrix(axes: Sequence[int], of: np.ndarray = strided, rows: int = rows) -> np.ndarray:
            return of.transpose(axes).reshape(rows, -1)

        right = matrix((1, 4, 5, 0, 2, 3))
        usual = {
            "That is every patch: with a stride, take only each `stride`-th in both directions": (
                matrix((1, 4, 5, 0, 2, 3), windows)
            ),
            "It lies on its side: rows are weights, columns are outputs": right.T,
            "Columns must go image by image: all outputs of image 0, then those of image 1": (
                matrix((1, 4, 5, 2, 3, 0))
            ),
            "Rows must go channel by channel, as weight.reshape(out_channels, -1) does: first "
            "all weights of channel 0": matrix((4, 5, 1, 0, 2, 3)),
            "Within a channel, rows of the kernel come one after another; yours go column by "
            "column": matrix((1, 5, 4, 0, 2, 3)),
            "The kernel is upside down: row (c, i, j) holds the pixel i further down and j "
            "further right": right.reshape(3, kernel * kernel, -1)[:, ::-1].reshape(rows, -1),
        }
        call = f"im2col(x, {kernel}, {stride}) of x with shape {x.shape}"
        _judge_array(call, stage.call(x, kernel, stride), right, usual)


def judge_winograd(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The convolution itself, with two channels and odd counts of tiles, and found by tiles."""
    for images, channels, out, high, wide in ((2, 3, 4, 3, 2), (1, 1, 1, 1, 1), (1, 1, 2, 2, 3)):
        x = generator.standard_normal((images, channels, 2 * high + 2, 2 * wide + 2))
        weight = generator.standard_normal((out, channels, 3, 3))
        right = _convolve(x, weight)
        tiled = right.reshape(images, out, high, 2, wide, 2).swapaxes(3, 4)
        usual = _usual(x, weight) | {
            "Put the tiles together: outputs of a tile are neighbours in two rows, so bring the "
            "axes into the order high, 2, wide, 2 before you reshape": tiled.reshape(right.shape),
            "Put the tiles together: one image of 2 x high rows and 2 x wide columns": tiled,
            "The product goes element by element (einsum, or *): a matrix product of two tiles "
            "mixes them": _matrix_product_of_tiles(x, weight),
        }
        call = f"winograd(x, weight) of shapes {x.shape} and {weight.shape}"
        _judge_array(call, stage.call(x, weight), right, usual)
    corners = np.zeros((1, 1, 3, 3))
    corners[..., ::2, ::2] = generator.uniform(1, 2, (2, 2))
    for place in ((1, 1), (2, 1), (1, 2), (2, 2)):
        x = generator.uniform(1, 2, (1, 1, 4, 4))
        x[0, 0][place] = HUGE
        if not np.allclose(stage.call(x, corners), _convolve(x, corners), rtol=1e-12, atol=0):
            return
    raise Wrong(
        "the result is right, but it was not found by Winograd's tiles: with a pixel of 1e17 "
        "under a weight of 0 yours is still exact, and sums of pixels, as in BT @ tile @ BT.T, "
        "would have lost the small ones beside it. Multiply transformed tiles by transformed "
        "kernels."
    )


def judge_fft(stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The convolution itself, with odd and even sizes, and found by way of frequencies."""
    for kernel, height, width in ((3, 8, 8), (2, 7, 6), (5, 6, 9), (3, 5, 7), (1, 4, 5)):
        x = generator.standard_normal((2, 3, height, width))
        weight = generator.standard_normal((4, 3, kernel, kernel))
        whole, flipped = _circular(x, weight), _circular(x, weight, conjugate=False)
        high, wide = height - kernel + 1, width - kernel + 1
        right = whole[..., :high, :wide]
        usual = _usual(x, weight) | {
            "The last kernel - 1 rows and columns have wrapped around: cut them off": whole,
            "The last kernel - 1 rows and columns have wrapped around: cut them off. And take the "
            "conjugate of the kernel's frequencies, or it is upside down": flipped,
            "Cut off the other side: what wrapped around stands in the last rows and columns": (
                whole[..., kernel - 1 :, kernel - 1 :]
            ),
            "Without the conjugate, frequencies multiply to a convolution with the kernel upside "
            "down. Take the conjugate of the kernel's": flipped[..., :high, :wide],
            "Take the conjugate of the kernel's frequencies, not of the image's": (
                _circular(weight, x, (height, width)).swapaxes(0, 1)[..., :high, :wide]
            ),
        }
        call = f"fft_convolution(x, weight) of shapes {x.shape} and {weight.shape}"
        _judge_array(call, stage.call(x, weight), right, usual)
    x = generator.uniform(1, 2, (1, 1, 8, 8))
    x[0, 0, 0, 0] = HUGE
    weight = generator.uniform(1, 2, (1, 1, 3, 3))
    found, right = stage.call(x, weight)[..., 1:, 1:], _convolve(x, weight)[..., 1:, 1:]
    if np.allclose(found, right, rtol=1e-12, atol=0):
        raise Wrong(
            "the result is right, but it was not found by way of frequencies: with a pixel of "
            "1e17 in one corner yours is still exact in the other, and a Fourier transform adds "
            "every pixel to every frequency."
        )


def judge_crossover(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The kernel size at which both counts are equal."""
    for trial in range(6):
        batch, channels, out = (int(2 ** generator.integers(0, 8)) for _ in "bio")
        size = int(generator.integers(8, 256))
        slower = float(generator.uniform(2, 40)) if trial else 1.0
        everything = batch, channels, out
        right = _meeting(size, slower, *everything)
        said = number(stage.call(batch, channels, out, size, slower), "return a kernel size")
        usual = {
            "That is the square of the kernel size: take the root": right**2,
            "The logarithm is to base 2": math.sqrt(2 + (right**2 - 2) * math.log(2)),
            "A transform of real numbers takes half as many": math.sqrt(2 * right**2 - 2),
            "Kernels are transformed too: that is the share 1 / batch": _meeting(
                size, slower, channels, out
            ),
            "Results are transformed back: that is 1 / in_channels": _meeting(
                size, slower, batch, out
            ),
            "Each operation of a transform takes `slower` times as long": (
                _meeting(size, 1.0, *everything)
            ),
            "Only transforms are slower; the product's 2 stays what it is": (
                _meeting(size, slower, *everything, product=2 * slower)
            ),
            "The product of the frequencies costs something too: the 2": (
                _meeting(size, slower, *everything, product=0)
            ),
            "im2col has two operations for each weight": math.sqrt(2) * right,
        }
        otherwise = "Write down both times, set them equal, and solve for the kernel size"
        call = f"crossover({batch}, {channels}, {out}, size={size}, slower={slower:.3g})"
        compare(call, said, right, usual, otherwise, within(1e-6))


def _meeting(size: int, slower: float, *counts: int, product: float = 2.0) -> float:
    """The kernel size, where each of these counts has a share of the transforms."""
    shares = sum(1 / count for count in counts)
    return math.sqrt(product + 2.5 * slower * math.log2(size) * shares)


def _windows(x: np.ndarray, kernel: int) -> np.ndarray:
    """All patches of all images: (images, channels, high, wide, kernel, kernel)."""
    return np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))


def _convolve(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The definition: every output is a sum over channels and over the kernel."""
    return np.einsum("nchwij,kcij->nkhw", _windows(x, weight.shape[2]), weight)


def _circular(
    x: np.ndarray,
    weight: np.ndarray,
    size: tuple[int, int] | None = None,
    *,
    conjugate: bool = True,
) -> np.ndarray:
    """The convolution of images that go round: what frequencies give before the cut."""
    size = size or x.shape[2:]
    kernels = np.fft.rfft2(weight, size)
    product = np.einsum(
        "nchw,kchw->nkhw", np.fft.rfft2(x, size), kernels.conj() if conjugate else kernels
    )
    return np.fft.irfft2(product, size)


def _matrix_product_of_tiles(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Winograd's F(2x2, 3x3) gone wrong: transformed tiles multiplied as matrices."""
    pixels = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    kernels = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    back = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
    tiles = pixels @ _windows(x, 4)[:, :, ::2, ::2] @ pixels.T
    product = np.einsum("nchwij,kcjl->nkhwil", tiles, kernels @ weight @ kernels.T)
    out = (back @ product @ back.T).swapaxes(3, 4)
    return out.reshape(*out.shape[:2], 2 * out.shape[2], 2 * out.shape[4])


def _usual(x: np.ndarray, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Mistakes that every convolution can make."""
    right = _convolve(x, weight)
    mistakes = {
        "The kernel is upside down: in deep learning a convolution does not flip it": _convolve(
            x, weight[..., ::-1, ::-1]
        ),
        "Rows and columns of the kernel have changed places": _convolve(x, weight.swapaxes(2, 3)),
        "Images and output channels have changed places: images come first": right.swapaxes(0, 1),
    }
    if x.shape[1] > 1:
        each = [_convolve(x[:, c : c + 1], weight[:, c : c + 1]) for c in range(x.shape[1])]
        mistakes |= {
            "Only the first channel was taken: sum over all of them": each[0],
            "Sum over the channels: there is one result for each output channel, not one for "
            "each pair": np.stack(each, axis=2),
        }
    return mistakes


def _judge_array(
    call: str, found: Any, right: np.ndarray, usual: Mapping[str, np.ndarray]
) -> None:
    """`Wrong`, unless the array is right; names a mistake whose result it would be."""
    not_none(found, f"{call}: return an array")
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiuc":
        raise Wrong(f"return an array of numbers, not a {type(found).__name__}.")
    same = within(TOLERANCE, TOLERANCE)
    cases = {words: same(found, one) and not alike(one, right) for words, one in usual.items()}
    cases |= {
        "complex numbers come back. Images and kernels are real, so is the result: irfft2 takes "
        "the frequencies that rfft2 gave back to real numbers": found.dtype.kind == "c",
        f"yours has the shape {found.shape}, it should be {right.shape}": (
            found.shape != right.shape
        ),
    }
    refuse_if(f"{call}: ", cases)
    if not same(found, right):
        places = {
            "The right numbers in wrong places. `reshape` takes numbers in the order in which "
            "they lie: put the axes in order first, with transpose or swapaxes": (
                same(np.sort(found, axis=None), np.sort(right, axis=None))
            )
        }
        first = tuple(map(int, np.argwhere(~np.isclose(found, right, rtol=TOLERANCE))[0]))
        raise Wrong(
            f"{call}: {np.isclose(found, right).mean():.0%} of the numbers are right. The first "
            f"wrong one stands at {first}: {found[first]:.4g} instead of {right[first]:.4g}. "
            + first_case(places)
        )
