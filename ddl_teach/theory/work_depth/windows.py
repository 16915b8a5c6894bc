"""How many windows lie over each position of a row, which is what a gradient adds up there.

Every window hands its gradient back to all that it touched: with K numbers and a stride s about
K / s times to each, and to borders less often. The windows over a pixel are the product of those
over its row and over its column.
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from ddl_teach.theory.convolution_sizes import Convolution
from ddl_teach.theory.inputs import count
from ddl_teach.theory.work_depth.counting import NOTHING, WorkDepth, tree_depth

Pair = Sequence[int]


class Pooling(NamedTuple):
    """The sizes of a pooling: `planes` are the channels of all images of the batch together."""

    planes: int
    height: int
    width: int
    kernel: Pair
    stride: Pair
    padding: Pair

    @property
    def windows(self) -> int:
        return self.planes * prod(outputs_along(*axis) for axis in _axes(self))


def of_pooling(counted: Callable[[Pooling], WorkDepth]) -> Callable[..., WorkDepth]:
    """`counted` as a function of a pooling's sizes; the stride is the kernel's by default."""

    def of_sizes(
        planes: int, height: int, width: int,
        kernel: Pair = (2, 2), stride: Pair | None = None, padding: Pair = (0, 0),
    ) -> WorkDepth:  # fmt: skip
        return counted(Pooling(planes, height, width, kernel, stride or kernel, padding))

    return of_sizes


def overlaps(
    windows: Pooling | Convolution, planes: int, terms: int = 1, operations: int = 0
) -> WorkDepth:
    """In each pixel the sum of `terms` terms from every window over it, each of which takes a
    chain of `operations` operations first."""
    touching = np.outer(*(coverage(*axis) for axis in _axes(windows)))
    summed = touching[touching > 0] * terms
    if not summed.size:
        return NOTHING
    work = planes * int(((operations + 1) * summed - 1).sum())
    return WorkDepth(work, operations + tree_depth(int(summed.max())))


def _axes(windows: Pooling | Convolution) -> Iterator[tuple[int, int, int, int]]:
    """Size, kernel, stride and padding of the rows, then of the columns."""
    size = windows.height, windows.width
    return zip(size, windows.kernel, windows.stride, windows.padding, strict=True)


def outputs_along(size: int, kernel: int, stride: int, padding: int) -> int:
    """How many windows there are in a row: floor((size + 2 padding - kernel) / stride) + 1."""
    room = count("size", size) + 2 * count("padding", padding, 0) - count("kernel", kernel)
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
