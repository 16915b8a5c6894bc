"""Graphs of activation functions: no arrow between one element and another."""

from __future__ import annotations

import math

import numpy as np

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph


def forward(elements: int, function: str = "relu") -> OperationGraph:
    """x -> y; gelu also hands out what its gradient will need, `kept` = 1 + erf(x / sqrt 2)."""
    build = Builder()
    x = build.input("x", elements)
    if function == "relu":
        return build.graph(y=build.operate("maximum", x, build.constant(0.0)))
    if function == "gelu":
        kept = build.operate("erf", build.scale(x, 1 / math.sqrt(2)))
        kept = build.add(kept, build.constant(1.0))
        return build.graph(y=build.multiply(build.scale(x, 0.5), kept), kept=kept)
    return build.graph(y=build.operate(function, x))


def input_gradient(elements: int, function: str = "relu") -> OperationGraph:
    """gradient, and what the forward pass kept -> dx."""
    build = Builder()
    gradient = build.input("gradient", elements)
    if function == "relu":
        x = build.input("x", elements)
        return build.graph(dx=build.operate("where_positive", gradient, x))
    if function == "gelu":
        return build.graph(dx=build.multiply(gradient, _gelu_slope(build, elements)))
    slope = SLOPES[function](build, build.input("y", elements))
    return build.graph(dx=build.multiply(gradient, slope))


def sigmoid_slope(build: Builder, y: np.ndarray) -> np.ndarray:
    """y (1 - y), from what sigmoid gave."""
    return build.multiply(y, build.subtract(build.constant(1.0), y))


def tanh_slope(build: Builder, y: np.ndarray) -> np.ndarray:
    """1 - y y, from what tanh gave."""
    return build.subtract(build.constant(1.0), build.multiply(y, y))


SLOPES = {"sigmoid": sigmoid_slope, "tanh": tanh_slope}


def _gelu_slope(build: Builder, elements: int) -> np.ndarray:
    """kept / 2 + x exp(-x x / 2) / sqrt(2 pi)."""
    x, kept = build.input("x", elements), build.input("kept", elements)
    bell = build.operate("exp", build.scale(build.multiply(x, x), -0.5))
    shifted = build.multiply(build.scale(x, 1 / math.sqrt(2 * math.pi)), bell)
    return build.add(build.scale(kept, 0.5), shifted)
