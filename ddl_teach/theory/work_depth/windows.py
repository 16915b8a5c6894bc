"""How many windows lie over each position of a row, which is what a gradient adds up there.

A window of K numbers that moves by a stride s over a row touches each number about K / s times,
and the borders less often. Every window hands its gradient back to all that it touched, so the
number at a position is a sum of so many terms. Rows and columns are independent: the windows over
a pixel are the product of those of its row and of its column.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ddl_teach.theory.convolution_tiles import ConvolutionShape
from ddl_teach.theory.inputs import count

Pair = Sequence[int]
Counted = TypeVar("Counted")


def outputs_along(size: int, kernel: int, stride: int, padding: int) -> int:
    """How many windows there are in a row: floor((size + 2 padding - kernel) / stride) + 1."""
    if padding < 0:
        raise ValueError(f"padding={padding}: a border has 0 numbers or more on each side")
    room = count("size", size) + 2 * padding - count("kernel", kernel)
    if room < 0:
        raise ValueError(
            f"a window of {kernel} does not fit into {size} numbers with a padding of {padding} "
            "on both sides: take a smaller kernel or more padding"
        )
    return room // count("stride", stride) + 1


def coverage(size: int, kernel: int, stride: int, padding: int) -> np.ndarray:
    """For each of the row's `size` numbers, how many windows touch it; padding is left out."""
    starts = stride * np.arange(outputs_along(size, kernel, stride, padding)) - padding
    touched = (starts[:, None] + np.arange(kernel)).ravel()
    return np.bincount(touched[(touched >= 0) & (touched < size)], minlength=size)


def pixel_coverage(problem: ConvolutionShape) -> np.ndarray:
    """For each pixel of a convolution's input, how many windows touch it."""
    return plane_coverage(
        (problem.height, problem.width), problem.kernel, problem.stride, problem.padding
    )


def plane_coverage(size: Pair, kernel: Pair, stride: Pair, padding: Pair) -> np.ndarray:
    """For each pixel of a plane, how many windows touch it."""
    rows, columns = (
        coverage(*of_axis) for of_axis in zip(size, kernel, stride, padding, strict=True)
    )
    return np.outer(rows, columns)


@dataclass(frozen=True)
class Pooling:
    """Windows over planes (batch times channels)."""

    planes: int
    size: Pair
    kernel: Pair
    stride: Pair
    padding: Pair

    @property
    def outputs(self) -> tuple[int, int]:
        """Rows and columns of windows in a plane."""
        axes = zip(self.size, self.kernel, self.stride, self.padding, strict=True)
        rows, columns = (outputs_along(*axis) for axis in axes)
        return rows, columns

    @property
    def windows(self) -> int:
        """How many there are in all planes."""
        return self.planes * self.outputs[0] * self.outputs[1]

    @property
    def covering(self) -> np.ndarray:
        """How many windows touch each pixel of a plane, of those that any touches."""
        found = plane_coverage(self.size, self.kernel, self.stride, self.padding)
        return found[found > 0]


def of_pooling(counted: Callable[[Pooling], Counted]) -> Callable[..., Counted]:
    """What is counted of a pooling, by its sizes; unless told, windows stand side by side."""

    def of_sizes(
        planes: int,
        height: int,
        width: int,
        kernel: Pair = (2, 2),
        stride: Pair | None = None,
        padding: Pair = (0, 0),
    ) -> Counted:
        return counted(Pooling(planes, (height, width), kernel, stride or kernel, padding))

    of_sizes.__doc__ = counted.__doc__
    return of_sizes
