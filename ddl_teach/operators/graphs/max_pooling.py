"""Graphs of max pooling over the last two axes of x, of the shape (planes, height, width)."""

from __future__ import annotations

import numpy as np

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import Graph
from ddl_teach.operators.graphs.sums import total
from ddl_teach.operators.graphs.windows import Pair, covering, cut, fold, padded
from ddl_teach.theory.work_depth.windows import outputs_along


def forward(
    planes: int,
    height: int,
    width: int,
    kernel: Pair = (2, 2),
    stride: Pair | None = None,
    padding: Pair = (0, 0),
) -> Graph:
    """x -> y."""
    build = Builder()
    # Beside a padding of minus infinity every number is the larger one.
    x = padded(build, build.input("x", planes, height, width), padding, value=-np.inf)
    windows = cut(x, kernel, stride or kernel)
    return build.graph(y=total(build, windows, axes=(-2, -1), operation="maximum"))


def input_gradient(
    planes: int,
    height: int,
    width: int,
    kernel: Pair = (2, 2),
    stride: Pair | None = None,
    padding: Pair = (0, 0),
) -> Graph:
    """x, y, gradient -> dx."""
    build, stride = Builder(), stride or kernel
    axes = zip((height, width), kernel, stride, padding, strict=True)
    size = [outputs_along(*axis) for axis in axes]
    x = build.input("x", planes, height, width)
    y, gradient = build.input("y", planes, *size), build.input("gradient", planes, *size)
    terms = np.zeros((planes, *size, *kernel), int)
    for pixel, places in covering(height, width, kernel, stride, padding).items():
        for row, column, i, j in places:
            best = build.operate("equal", x[:, *pixel], y[:, row, column])
            chosen = build.operate("where_positive", gradient[:, row, column], best)
            terms[:, row, column, i, j] = chosen
    return build.graph(dx=fold(build, terms, (height, width), kernel, stride, padding))
