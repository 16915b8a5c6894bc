"""Graphs of a layer of gated recurrent units; gates in torch's order r, z, n.

`x` has the shape (steps, batch, inputs), `weight` (inputs, 3 hidden), `recurrent`
(hidden, 3 hidden). The gradients take what the forward pass kept: the gates, the products h U of
the gate n, and the states before each step.
"""

from __future__ import annotations

import numpy as np
from operators.graphs.built.activation import sigmoid_slope, tanh_slope
from operators.graphs.built.rnn import input_products, over_time

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph


def forward(batch: int, steps: int, inputs: int, hidden: int) -> OperationGraph:
    """x, start, weight, recurrent, bias -> states, and `gates`, `recalled`."""
    build = Builder()
    driven = input_products(build, batch, steps, inputs, 3 * hidden)
    recurrent = build.input("recurrent", hidden, 3 * hidden)
    states = [build.input("start", batch, hidden)]
    all_gates, all_recalled = [], []
    for step in range(steps):
        by_input = np.split(driven[step], 3, axis=1)
        by_state = np.split(build.matrix_product(states[-1], recurrent), 3, axis=1)
        r, z = (
            build.operate("sigmoid", build.add(*both))
            for both in zip(by_input[:2], by_state[:2], strict=True)
        )
        n = build.operate("tanh", build.add(by_input[2], build.multiply(r, by_state[2])))
        states.append(build.add(n, build.multiply(z, build.subtract(states[-1], n))))
        all_gates.append(np.stack([r, z, n]))
        all_recalled.append(by_state[2])
    results = {"states": states, "gates": all_gates, "recalled": all_recalled}
    return build.graph(**{name: np.stack(parts) for name, parts in results.items()})


def input_gradient(batch: int, steps: int, inputs: int, hidden: int) -> OperationGraph:
    """gradient, gates, recalled, states, weight, recurrent -> dx."""
    build = Builder()
    states = build.input("states", steps, batch, hidden)
    by_input, _ = _through_time(build, states)
    weight = build.input("weight", inputs, 3 * hidden)
    return build.graph(dx=build.matrix_product(by_input, weight.T))


def parameter_gradient(batch: int, steps: int, inputs: int, hidden: int) -> OperationGraph:
    """gradient, gates, recalled, states, recurrent, x -> dweight, drecurrent, dbias."""
    build = Builder()
    states = build.input("states", steps, batch, hidden)
    by_input, by_state = _through_time(build, states)
    x = build.input("x", steps, batch, inputs)
    return build.graph(
        dweight=over_time(build, x, by_input),
        drecurrent=over_time(build, states, by_state),
        dbias=build.total(by_input, axes=(0, 1)),
    )


def _through_time(build: Builder, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of what the inputs' and what the states' products gave: (steps, batch, 3 hidden).

    They differ in n alone, whose product with the state is multiplied by r.
    """
    steps, batch, hidden = states.shape
    gradient = build.input("gradient", steps, batch, hidden)
    recurrent = build.input("recurrent", hidden, 3 * hidden)
    gates = build.input("gates", steps, 3, batch, hidden)
    r, z, n = (gates[:, place] for place in range(3))
    rest = build.subtract(build.constant(1.0), z)
    slope_n = build.multiply(rest, tanh_slope(build, n))
    slope_z = build.multiply(build.subtract(states, n), build.multiply(z, rest))
    recalled = build.input("recalled", steps, batch, hidden)
    slope_r = build.multiply(recalled, sigmoid_slope(build, r))
    by_input, by_state = [], []
    state = gradient[-1]
    for step in reversed(range(steps)):
        dn, dz = build.multiply(state, slope_n[step]), build.multiply(state, slope_z[step])
        dr, dq = build.multiply(dn, slope_r[step]), build.multiply(dn, r[step])
        by_input.append(np.concatenate([dr, dz, dn], axis=1))
        by_state.append(np.concatenate([dr, dz, dq], axis=1))
        if step:
            products = build.multiply(by_state[-1][:, None, :], recurrent)
            kept = build.multiply(state, z[step])
            state = build.reduce([*np.moveaxis(products, 2, 0), kept, gradient[step - 1]])
    return np.stack(by_input[::-1]), np.stack(by_state[::-1])
