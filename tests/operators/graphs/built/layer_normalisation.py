"""Graphs of layer normalisation, x of the shape (rows, features)."""

from __future__ import annotations

from operators.graphs.built.batch_normalisation import normalised, without_means

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph


def forward(rows: int, features: int) -> OperationGraph:
    """x, scale, shift -> y, and what the gradients need: `normal` and `root`."""
    build = Builder()
    x = build.input("x", rows, features)
    normal, root = normalised(build, x)
    scaled = build.multiply(normal, build.input("scale", features))
    return build.graph(
        y=build.add(scaled, build.input("shift", features)), normal=normal, root=root
    )


def input_gradient(rows: int, features: int) -> OperationGraph:
    """gradient, normal, root, scale -> dx."""
    build = Builder()
    gradient = build.input("gradient", rows, features)
    normal, root = build.input("normal", rows, features), build.input("root", rows)
    scaled = build.multiply(gradient, build.input("scale", features))
    return build.graph(dx=build.multiply(without_means(build, scaled, normal), root[:, None]))


def parameter_gradient(rows: int, features: int) -> OperationGraph:
    """gradient, normal -> dscale, dshift."""
    build = Builder()
    gradient = build.input("gradient", rows, features)
    normal = build.input("normal", rows, features)
    return build.graph(
        dscale=build.dot(gradient, normal, axes=0), dshift=build.total(gradient, axes=0)
    )
