"""Graphs of max pooling over the last two axes of x, of the shape (planes, height, width)."""

from __future__ import annotations

import numpy as np
from operators.graphs.built.windows import covering, cut, fold, outputs_of, padded

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph
from ddl_teach.theory.work_depth.windows import Pooling, of_pooling


@of_pooling
def forward(pool: Pooling) -> OperationGraph:
    """x -> y."""
    build = Builder()
    # Beside a padding of minus infinity every number is the larger one.
    x = padded(
        build, build.input("x", pool.planes, pool.height, pool.width), pool.padding, value=-np.inf
    )
    windows = cut(x, pool.kernel, pool.stride)
    return build.graph(y=build.total(windows, axes=(-2, -1), operation="maximum"))


@of_pooling
def input_gradient(pool: Pooling) -> OperationGraph:
    """x, y, gradient -> dx."""
    build, windows = Builder(), (pool.planes, *outputs_of(pool))
    x = build.input("x", pool.planes, pool.height, pool.width)
    y, gradient = build.input("y", *windows), build.input("gradient", *windows)
    walk = pool.kernel, pool.stride, pool.padding
    terms = np.zeros((*windows, *pool.kernel), int)
    for pixel, places in covering(pool.height, pool.width, *walk).items():
        for row, column, i, j in places:
            best = build.operate("equal", x[:, *pixel], y[:, row, column])
            chosen = build.operate("where_positive", gradient[:, row, column], best)
            terms[:, row, column, i, j] = chosen
    return build.graph(dx=fold(build, terms, (pool.height, pool.width), *walk))
