"""Graphs of batch normalisation, x of the shape (channels, elements of one channel)."""

from __future__ import annotations

import numpy as np

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph

EPSILON = 1e-5


def forward(channels: int, elements: int) -> OperationGraph:
    """x, scale, shift -> y, and what the gradients need: `normal` and `root`."""
    build = Builder()
    x = build.input("x", channels, elements)
    scale, shift = build.input("scale", channels), build.input("shift", channels)
    normal, root = normalised(build, x)
    y = build.add(build.multiply(normal, scale[:, None]), shift[:, None])
    return build.graph(y=y, normal=normal, root=root)


def input_gradient(channels: int, elements: int) -> OperationGraph:
    """gradient, normal, root, scale -> dx."""
    build = Builder()
    gradient = build.input("gradient", channels, elements)
    normal = build.input("normal", channels, elements)
    root, scale = build.input("root", channels), build.input("scale", channels)
    centred = without_means(build, gradient, normal)
    return build.graph(dx=build.multiply(centred, build.multiply(scale, root)[:, None]))


def parameter_gradient(channels: int, elements: int) -> OperationGraph:
    """gradient, normal -> dscale, dshift."""
    build = Builder()
    gradient = build.input("gradient", channels, elements)
    normal = build.input("normal", channels, elements)
    return build.graph(dscale=build.dot(gradient, normal), dshift=build.total(gradient))


def normalised(build: Builder, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of mean 0 and variance 1, and one over each row's standard deviation."""
    mean = build.scale(build.total(x), 1 / x.shape[1])
    centred = build.subtract(x, mean[:, None])
    variance = build.scale(build.dot(centred, centred), 1 / x.shape[1])
    root = build.operate("inverse_root", build.add(variance, build.constant(EPSILON)))
    return build.multiply(centred, root[:, None]), root


def without_means(build: Builder, gradient: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """g - mean(g) - v mean(g v): what is left of a gradient that may move neither statistic."""
    share = 1 / gradient.shape[1]
    mean = build.scale(build.total(gradient), share)
    along = build.scale(build.dot(gradient, normal), share)
    return build.subtract(
        build.subtract(gradient, mean[:, None]), build.multiply(normal, along[:, None])
    )
