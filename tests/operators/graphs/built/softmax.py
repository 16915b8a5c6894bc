"""Graphs of softmax along the last axis."""

from __future__ import annotations

import numpy as np

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph


def forward(rows: int, columns: int) -> OperationGraph:
    """x -> y."""
    build = Builder()
    return build.graph(y=shares(build, build.input("x", rows, columns)))


def input_gradient(rows: int, columns: int) -> OperationGraph:
    """y, gradient -> dx."""
    build = Builder()
    y, gradient = build.input("y", rows, columns), build.input("gradient", rows, columns)
    return build.graph(dx=backwards(build, y, gradient))


def shares(build: Builder, x: np.ndarray) -> np.ndarray:
    """exp of the distance to the maximum, over the sum of those."""
    most = build.total(x, operation="maximum")
    powers = build.operate("exp", build.subtract(x, most[..., None]))
    return build.operate("divide", powers, build.total(powers)[..., None])


def backwards(build: Builder, y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """y (g - sum(g y))."""
    common = build.dot(gradient, y)
    return build.multiply(y, build.subtract(gradient, common[..., None]))
