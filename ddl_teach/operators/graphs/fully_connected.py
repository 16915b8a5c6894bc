"""Graphs of a fully connected layer y = x W + b, W of shape (inputs, outputs)."""

import numpy as np

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph


def forward(batch: int, inputs: int, outputs: int, bias: bool = True) -> OperationGraph:
    """x, weight, bias -> y. The bias is one more number in each sum."""
    build = Builder()
    x, weight = build.input("x", batch, inputs), build.input("weight", inputs, outputs)
    products = list(np.moveaxis(build.multiply(x[:, :, None], weight), 1, 0))
    if bias:
        products.append(np.broadcast_to(build.input("bias", outputs), (batch, outputs)))
    return build.graph(y=build.reduce(products))


def input_gradient(batch: int, inputs: int, outputs: int, bias: bool = True) -> OperationGraph:
    """gradient, weight -> dx."""
    build = Builder()
    gradient = build.input("gradient", batch, outputs)
    weight = build.input("weight", inputs, outputs)
    return build.graph(dx=build.matrix_product(gradient, weight.T))


def parameter_gradient(batch: int, inputs: int, outputs: int, bias: bool = True) -> OperationGraph:
    """x, gradient -> dweight, dbias."""
    build = Builder()
    x, gradient = build.input("x", batch, inputs), build.input("gradient", batch, outputs)
    results = {"dweight": build.matrix_product(x.T, gradient)}
    if bias:
        results["dbias"] = build.total(gradient, axes=0)
    return build.graph(**results)
