"""Graphs of a layer of long short-term memory; gates in torch's order i, f, g, o.

`x` has the shape (steps, batch, inputs), `weight` (inputs, 4 hidden), `recurrent`
(hidden, 4 hidden). The gradients take what the forward pass kept: the gates, the cells before each
step, tanh of those after it, and the states before it.
"""

from __future__ import annotations

import numpy as np
from operators.graphs.built.activation import sigmoid_slope, tanh_slope
from operators.graphs.built.rnn import input_products, over_time

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph

GATES = ("i", "f", "g", "o")


def forward(batch: int, steps: int, inputs: int, hidden: int) -> OperationGraph:
    """x, start, cell, weight, recurrent, bias -> states, and `gates`, `cells`, `squashed`."""
    build = Builder()
    driven = input_products(build, batch, steps, inputs, 4 * hidden)
    recurrent = build.input("recurrent", hidden, 4 * hidden)
    states, cells = [build.input("start", batch, hidden)], [build.input("cell", batch, hidden)]
    all_gates, squashed = [], []
    for step in range(steps):
        both = build.add(driven[step], build.matrix_product(states[-1], recurrent))
        gates = [
            build.operate("tanh" if name == "g" else "sigmoid", part)
            for name, part in zip(GATES, np.split(both, 4, axis=1), strict=True)
        ]
        i, f, g, o = gates
        cells.append(build.add(build.multiply(f, cells[-1]), build.multiply(i, g)))
        squashed.append(build.operate("tanh", cells[-1]))
        states.append(build.multiply(o, squashed[-1]))
        all_gates.append(np.stack(gates))
    results = {"states": states, "cells": cells, "gates": all_gates, "squashed": squashed}
    return build.graph(**{name: np.stack(parts) for name, parts in results.items()})


def input_gradient(batch: int, steps: int, inputs: int, hidden: int) -> OperationGraph:
    """gradient, gates, cells, squashed, weight, recurrent -> dx."""
    build = Builder()
    gates = _through_time(build, batch, steps, hidden)
    weight = build.input("weight", inputs, 4 * hidden)
    return build.graph(dx=build.matrix_product(gates, weight.T))


def parameter_gradient(batch: int, steps: int, inputs: int, hidden: int) -> OperationGraph:
    """gradient, gates, cells, squashed, recurrent, x, states -> dweight, drecurrent, dbias."""
    build = Builder()
    gates = _through_time(build, batch, steps, hidden)
    states, x = build.input("states", steps, batch, hidden), build.input("x", steps, batch, inputs)
    return build.graph(
        dweight=over_time(build, x, gates),
        drecurrent=over_time(build, states, gates),
        dbias=build.total(gates, axes=(0, 1)),
    )


def _through_time(build: Builder, batch: int, steps: int, hidden: int) -> np.ndarray:
    """The gradients of all gates before their functions: (steps, batch, 4 hidden)."""
    gradient = build.input("gradient", steps, batch, hidden)
    recurrent = build.input("recurrent", hidden, 4 * hidden)
    slope, forget = _slopes(build, batch, steps, hidden)
    found = []
    state, later = gradient[-1], None
    for step in reversed(range(steps)):
        cell = build.multiply(state, slope["cell"][step])
        if later is not None:
            cell = build.add(cell, build.multiply(later, forget[step + 1]))
        through = {"i": cell, "f": cell, "g": cell, "o": state}
        found.append(
            np.concatenate(
                [build.multiply(through[name], slope[name][step]) for name in GATES], axis=1
            )
        )
        if step:
            products = build.multiply(found[-1][:, None, :], recurrent)
            state = build.reduce([*np.moveaxis(products, 2, 0), gradient[step - 1]])
            later = cell
    return np.stack(found[::-1])


def _slopes(
    build: Builder, batch: int, steps: int, hidden: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What each gate's gradient is multiplied by, ready before any gradient comes; and f."""
    gates = build.input("gates", steps, 4, batch, hidden)
    i, f, g, o = (gates[:, place] for place in range(4))
    before = build.input("cells", steps, batch, hidden)
    after = build.input("squashed", steps, batch, hidden)
    return {
        "i": build.multiply(g, sigmoid_slope(build, i)),
        "f": build.multiply(before, sigmoid_slope(build, f)),
        "g": build.multiply(i, tanh_slope(build, g)),
        "o": build.multiply(after, sigmoid_slope(build, o)),
        "cell": build.multiply(o, tanh_slope(build, after)),
    }, f
