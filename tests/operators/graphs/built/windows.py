"""Windows over planes of nodes: cut out without an operation, summed where they overlap."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.theory.work_depth.windows import Pair, Pooling, outputs_along


def padded(build: Builder, x: np.ndarray, padding: Pair, value: float = 0.0) -> np.ndarray:
    """Planes with a border of one constant."""
    border = [(0, 0)] * (x.ndim - 2) + [(space, space) for space in padding]
    return np.pad(x, border, constant_values=int(build.constant(value)))


def cut(x: np.ndarray, kernel: Pair, stride: Pair) -> np.ndarray:
    """All windows of the last two axes: (..., rows, columns, kernel height, kernel width)."""
    every = np.lib.stride_tricks.sliding_window_view(x, tuple(kernel), axis=(-2, -1))
    return every[..., :: stride[0], :: stride[1], :, :]


def covering(
    height: int, width: int, kernel: Pair, stride: Pair, padding: Pair
) -> dict[tuple[int, int], list[tuple[int, int, int, int]]]:
    """For each pixel the windows over it: (row, column) of the window, (row, column) within it."""
    rows, columns = (
        outputs_along(*axis) for axis in zip((height, width), kernel, stride, padding, strict=True)
    )
    found = defaultdict(list)
    for place in np.ndindex(rows, columns, *kernel):
        y = place[0] * stride[0] + place[2] - padding[0]
        x = place[1] * stride[1] + place[3] - padding[1]
        if 0 <= y < height and 0 <= x < width:
            found[y, x].append(place)
    return found


def fold(
    build: Builder, terms: np.ndarray, size: Pair, kernel: Pair, stride: Pair, padding: Pair
) -> np.ndarray:
    """The opposite of `cut` on padded planes: every pixel sums what the windows over it hold."""
    planes = terms.shape[:-4]
    result = np.broadcast_to(build.constant(0.0), (*planes, *size)).copy()
    for pixel, places in covering(*size, kernel, stride, padding).items():
        result[..., pixel[0], pixel[1]] = build.reduce([terms[(..., *one)] for one in places])
    return result


def outputs_of(pool: Pooling) -> tuple[int, ...]:
    """Rows and columns of windows in a plane."""
    axes = zip((pool.height, pool.width), pool.kernel, pool.stride, pool.padding, strict=True)
    return tuple(outputs_along(*axis) for axis in axes)
