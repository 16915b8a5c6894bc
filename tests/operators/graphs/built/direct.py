"""Graphs of a direct convolution: each output, each pixel, each weight is one dot product.

`x` has the shape (batch, in_channels, height, width), `weight` (out_channels, in_channels /
groups, kernel height, kernel width), as in torch.
"""

from __future__ import annotations

import numpy as np
from operators.graphs.built.windows import covering, cut, padded

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph
from ddl_teach.theory.convolution_sizes import Convolution


def forward(problem: Convolution, bias: bool = False) -> OperationGraph:
    """x, weight, bias -> y."""
    build = Builder()
    seen, weight = grouped_windows(build, problem), grouped_weight(build, problem)
    # (batch, group, 1, rows, columns, channels, kernel) times (group, out, 1, 1, channels, kernel)
    seen = np.moveaxis(seen, 2, -3)[:, :, None]
    products = build.multiply(seen, weight[:, :, None, None])
    terms = list(np.moveaxis(products.reshape(*products.shape[:5], -1), -1, 0))
    if bias:
        shape = (problem.groups, -1, 1, 1)
        added = build.input("bias", problem.out_channels).reshape(shape)
        terms.append(np.broadcast_to(added, terms[0].shape))
    return build.graph(y=merged(build.reduce(terms)))


def input_gradient(problem: Convolution, bias: bool = False) -> OperationGraph:
    """gradient, weight -> dx."""
    build = Builder()
    gradient, weight = grouped_gradient(build, problem), grouped_weight(build, problem)
    size, walk = (problem.height, problem.width), (problem.stride, problem.padding)
    ours = problem.in_channels // problem.groups
    shape = (problem.batch, problem.groups, ours, *size)
    result = np.broadcast_to(build.constant(0.0), shape).copy()
    for pixel, places in covering(*size, problem.kernel, *walk).items():
        terms = [
            build.multiply(gradient[:, :, out, None, row, column], weight[:, out, :, i, j])
            for row, column, i, j in places
            for out in range(gradient.shape[2])
        ]
        result[..., pixel[0], pixel[1]] = build.reduce(terms)
    return build.graph(dx=merged(result))


def parameter_gradient(problem: Convolution, bias: bool = False) -> OperationGraph:
    """x, gradient -> dweight, dbias."""
    build = Builder()
    seen, gradient = grouped_windows(build, problem), grouped_gradient(build, problem)
    # (batch, group, out, channels, rows, columns, kernel), summed over batch and positions
    seen = seen[:, :, None]
    products = build.dot(seen, gradient[:, :, :, None, :, :, None, None], axes=(0, 4, 5))
    results = {"dweight": products.reshape(-1, *products.shape[2:])}
    return build.graph(**results, **bias_gradient(build, gradient, bias))


def bias_gradient(build: Builder, gradient: np.ndarray, bias: bool) -> dict[str, np.ndarray]:
    """The sum of a channel's gradients, where there is a bias."""
    return {"dbias": build.total(gradient, axes=(0, 3, 4)).ravel()} if bias else {}


def grouped_windows(build: Builder, problem: Convolution) -> np.ndarray:
    """(batch, group, channels, rows, columns, kernel height, kernel width) of the input."""
    x = build.input("x", problem.batch, problem.in_channels, problem.height, problem.width)
    windows = cut(padded(build, x, problem.padding), problem.kernel, problem.stride)
    return windows.reshape(problem.batch, problem.groups, -1, *windows.shape[2:])


def grouped_weight(build: Builder, problem: Convolution) -> np.ndarray:
    """(group, out, channels, kernel height, kernel width)."""
    ours = problem.in_channels // problem.groups
    weight = build.input("weight", problem.out_channels, ours, *problem.kernel)
    return weight.reshape(problem.groups, -1, ours, *problem.kernel)


def grouped_gradient(build: Builder, problem: Convolution) -> np.ndarray:
    """(batch, group, out, rows, columns) of the output's gradient."""
    size = problem.output_height, problem.output_width
    gradient = build.input("gradient", problem.batch, problem.out_channels, *size)
    return gradient.reshape(problem.batch, problem.groups, -1, *size)


def merged(planes: np.ndarray) -> np.ndarray:
    """Groups and their channels as one axis again."""
    return planes.reshape(planes.shape[0], -1, *planes.shape[3:])
