"""Graphs of average pooling over the last two axes of x, of the shape (planes, height, width)."""

from __future__ import annotations

import numpy as np
from operators.graphs.built.windows import cut, fold, outputs_of, padded

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph
from ddl_teach.theory.work_depth.windows import Pooling, of_pooling


@of_pooling
def forward(pool: Pooling) -> OperationGraph:
    """x -> y."""
    build = Builder()
    x = padded(build, build.input("x", pool.planes, pool.height, pool.width), pool.padding)
    sums = build.total(cut(x, pool.kernel, pool.stride), axes=(-2, -1))
    return build.graph(y=build.scale(sums, 1 / (pool.kernel[0] * pool.kernel[1])))


@of_pooling
def input_gradient(pool: Pooling) -> OperationGraph:
    """gradient -> dx."""
    build = Builder()
    gradient = build.input("gradient", pool.planes, *outputs_of(pool))
    share = build.scale(gradient, 1 / (pool.kernel[0] * pool.kernel[1]))
    terms = np.broadcast_to(share[..., None, None], (*share.shape, *pool.kernel))
    return build.graph(
        dx=fold(build, terms, (pool.height, pool.width), pool.kernel, pool.stride, pool.padding)
    )
