"""How many windows lie over each position of a row, which is what a gradient adds up there.

A window of K numbers that moves by a stride s over a row touches each number about K / s times,
and the borders less often. Every window hands its gradient back to all that it touched, so the
number at a position is a sum of so many terms. Rows and columns are independent: the windows over
a pixel are the product of those of its row and of its column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddl_teach.theory.convolution_cost import Shape
from ddl_teach.theory.inputs import count

Pair = Sequence[int]


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


def pixel_coverage(problem: Shape) -> np.ndarray:
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


def window_count(height: int, width: int, kernel: Pair, stride: Pair | None, padding: Pair) -> int:
    """How many windows there are in a plane."""
    axes = zip((height, width), kernel, stride or kernel, padding, strict=True)
    rows, columns = (outputs_along(*axis) for axis in axes)
    return rows * columns
