"""Graphs of average pooling over the last two axes of x, of the shape (planes, height, width)."""

from __future__ import annotations

import numpy as np

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import Graph
from ddl_teach.operators.graphs.sums import total
from ddl_teach.operators.graphs.windows import Pair, cut, fold, padded
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
    x = padded(build, build.input("x", planes, height, width), padding)
    sums = total(build, cut(x, kernel, stride or kernel), axes=(-2, -1))
    return build.graph(y=build.scale(sums, 1 / (kernel[0] * kernel[1])))


def input_gradient(
    planes: int,
    height: int,
    width: int,
    kernel: Pair = (2, 2),
    stride: Pair | None = None,
    padding: Pair = (0, 0),
) -> Graph:
    """gradient -> dx."""
    build, stride = Builder(), stride or kernel
    axes = zip((height, width), kernel, stride, padding, strict=True)
    gradient = build.input("gradient", planes, *(outputs_along(*axis) for axis in axes))
    share = build.scale(gradient, 1 / (kernel[0] * kernel[1]))
    terms = np.broadcast_to(share[..., None, None], (*share.shape, *kernel))
    return build.graph(dx=fold(build, terms, (height, width), kernel, stride, padding))
