"""Graphs of a recurrent layer over a sequence: h_t = tanh(x_t W + b + h_{t-1} U).

`x` has the shape (steps, batch, inputs), `outputs` are h_1 to h_T, `states` h_0 to h_(T-1),
`weight` (inputs, hidden) and `recurrent` (hidden, hidden).
"""

from __future__ import annotations

import numpy as np
from operators.graphs.built.activation import tanh_slope

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph


def forward(batch: int, steps: int, inputs: int, hidden: int) -> OperationGraph:
    """x, start, weight, recurrent, bias -> states."""
    build = Builder()
    driven = input_products(build, batch, steps, inputs, hidden)
    recurrent = build.input("recurrent", hidden, hidden)
    states = [build.input("start", batch, hidden)]
    for step in range(steps):
        both = build.add(driven[step], build.matrix_product(states[-1], recurrent))
        states.append(build.operate("tanh", both))
    return build.graph(states=np.stack(states))


def input_gradient(batch: int, steps: int, inputs: int, hidden: int) -> OperationGraph:
    """gradient, outputs, weight, recurrent -> dx."""
    build = Builder()
    before_tanh = _through_time(build, batch, steps, hidden)
    weight = build.input("weight", inputs, hidden)
    return build.graph(dx=build.matrix_product(before_tanh, weight.T))


def parameter_gradient(batch: int, steps: int, inputs: int, hidden: int) -> OperationGraph:
    """gradient, outputs, recurrent, states, x -> dweight, drecurrent, dbias."""
    build = Builder()
    before_tanh = _through_time(build, batch, steps, hidden)
    states, x = build.input("states", steps, batch, hidden), build.input("x", steps, batch, inputs)
    return build.graph(
        dweight=over_time(build, x, before_tanh),
        drecurrent=over_time(build, states, before_tanh),
        dbias=build.total(before_tanh, axes=(0, 1)),
    )


def input_products(build: Builder, batch: int, steps: int, inputs: int, gates: int) -> np.ndarray:
    """x_t W + b of all steps, which wait for nobody: (steps, batch, gates)."""
    x, weight = build.input("x", steps, batch, inputs), build.input("weight", inputs, gates)
    products = list(np.moveaxis(build.multiply(x[..., None], weight), 2, 0))
    bias = np.broadcast_to(build.input("bias", gates), (steps, batch, gates))
    return build.reduce([*products, bias])


def over_time(build: Builder, rows: np.ndarray, gates: np.ndarray) -> np.ndarray:
    """Each weight's sum over steps and batch; who is ready first is added first."""
    products = build.multiply(rows[..., :, None], gates[..., None, :])
    return build.total(products, axes=(0, 1))


def _through_time(build: Builder, batch: int, steps: int, hidden: int) -> np.ndarray:
    """The gradients before tanh, (steps, batch, hidden), the last step first in time."""
    gradient = build.input("gradient", steps, batch, hidden)
    outputs = build.input("outputs", steps, batch, hidden)
    recurrent = build.input("recurrent", hidden, hidden)
    slopes, found = tanh_slope(build, outputs), []
    arriving = gradient[-1]
    for step in reversed(range(steps)):
        found.append(build.multiply(arriving, slopes[step]))
        if step:
            products = build.multiply(found[-1][:, None, :], recurrent)
            arriving = build.reduce([*np.moveaxis(products, 2, 0), gradient[step - 1]])
    return np.stack(found[::-1])
