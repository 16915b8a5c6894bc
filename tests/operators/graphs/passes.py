"""Every operator at random small sizes, and what torch computes there, gradients included.

A case is an operator of `theory.work_depth` and its module of `operators.graphs`, sizes for both,
and a reference that gives every array by the name under which graphs take it or hand it out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import numpy as np
import torch
from hypothesis import strategies as st
from torch.nn import functional

from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.winograd_matrices import matrices

SMALL = st.integers(1, 5)
PASSES = ("forward", "input_gradient", "parameter_gradient")


@dataclass(frozen=True)
class Case:
    """One operator: where its formulas and graphs are, at which sizes, and what is right."""

    name: str
    sizes: st.SearchStrategy
    reference: Callable

    def passes(self):
        """Of each pass the formula and the builder of its graph."""
        work_depth = "ddl_teach.theory.work_depth"
        formulas = getattr(import_module(work_depth), self.name, None)
        formulas = formulas or import_module(f"{work_depth}.{self.name}")
        in_class = self.name == "fully_connected"  # what unit 01 draws
        room = "ddl_teach.operators.graphs" if in_class else "operators.graphs.built"
        graphs = import_module(f"{room}.{self.name}")
        assert [hasattr(formulas, way) for way in PASSES] == [
            hasattr(graphs, way) for way in PASSES
        ]
        return [
            (way, getattr(formulas, way), getattr(graphs, way))
            for way in PASSES
            if hasattr(formulas, way)
        ]


def sizes(**each):
    return st.fixed_dictionaries(each)


def leaf(generator, *shape):
    return torch.from_numpy(generator.standard_normal(shape)).requires_grad_()


def arrays(y, generator, given, name="y", **more):
    """Everything by name: what is given, the result, a gradient of it, and all gradients."""
    gradient = torch.from_numpy(generator.standard_normal(y.shape))
    wanted = {key: tensor for key, tensor in given.items() if tensor.requires_grad}
    found = torch.autograd.grad(y, list(wanted.values()), gradient, allow_unused=True)
    named = {**given, name: y, "gradient": gradient, **more}
    named |= {f"d{key}": value for key, value in zip(wanted, found, strict=True)}
    return {key: value.detach().numpy() for key, value in named.items() if value is not None}


def activation(generator, elements, function):
    x = leaf(generator, elements)
    y = getattr(torch if function != "gelu" else functional, function)(x)
    return arrays(y, generator, {"x": x}, kept=1 + torch.erf(x / 2**0.5))


def fully_connected(generator, batch, inputs, outputs, bias):
    x, weight = leaf(generator, batch, inputs), leaf(generator, inputs, outputs)
    given = {"x": x, "weight": weight} | ({"bias": leaf(generator, outputs)} if bias else {})
    return arrays(x @ weight + given.get("bias", 0), generator, given)


def convolution(generator, problem, bias, transforms=None):
    x = leaf(generator, problem.batch, problem.in_channels, problem.height, problem.width)
    ours = problem.in_channels // problem.groups
    weight = leaf(generator, problem.out_channels, ours, *problem.kernel)
    given = {"x": x, "weight": weight}
    given |= {"bias": leaf(generator, problem.out_channels)} if bias else {}
    walk = {"stride": problem.stride, "padding": problem.padding, "groups": problem.groups}
    return arrays(functional.conv2d(**{"input": x}, weight=weight, bias=given.get("bias"), **walk),
                  generator, given)  # fmt: skip


def pooling(function, generator, planes, height, width, kernel, stride, padding):
    x = leaf(generator, planes, height, width)
    return arrays(function(x, kernel, stride, padding), generator, {"x": x})


def normalisation(generator, x, over, scale, shift):
    mean = x.mean(over, keepdim=True)
    root = 1 / torch.sqrt(x.var(over, keepdim=True, unbiased=False) + 1e-5)
    kept = {"normal": (x - mean) * root, "root": root.squeeze(over)}
    return {"x": x, "scale": scale, "shift": shift}, kept


def batch_normalisation(generator, channels, elements):
    x, scale, shift = (
        leaf(generator, *shape) for shape in ((channels, elements), (channels,), (channels,))
    )
    given, kept = normalisation(generator, x, 1, scale, shift)
    y = kept["normal"] * scale[:, None] + shift[:, None]
    if elements > 1:  # torch refuses statistics of one number
        same = functional.batch_norm(x.T, None, None, scale, shift, training=True).T
        torch.testing.assert_close(y, same)
    return arrays(y, generator, given, **kept)


def layer_normalisation(generator, rows, features):
    x, scale, shift = (
        leaf(generator, *shape) for shape in ((rows, features), (features,), (features,))
    )
    given, kept = normalisation(generator, x, 1, scale, shift)
    y = functional.layer_norm(x, (features,), scale, shift)
    return arrays(y, generator, given, **kept)


def softmax(generator, rows, columns):
    x = leaf(generator, rows, columns)
    return arrays(torch.softmax(x, 1), generator, {"x": x})


def attention(generator, batch, heads, queries, keys, features, masked):
    query = leaf(generator, batch, heads, queries, features)
    key, value = (leaf(generator, batch, heads, keys, features) for _ in range(2))
    mask = torch.zeros(queries, keys, dtype=float)
    if masked:
        mask.masked_fill_(torch.ones(queries, keys).triu(1) > 0, -torch.inf)
    given = {"query": query, "key": key, "value": value, "mask": mask}
    y = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    scores = query @ key.mT / features**0.5 + mask
    return arrays(y, generator, given, shares=torch.softmax(scores, -1))


def recurrent(kind, gates, generator, batch, steps, inputs, hidden):
    """torch's own layer; what it hides is computed once more, step by step."""
    layer = kind(inputs, hidden, dtype=torch.float64)
    x, start = leaf(generator, steps, batch, inputs), torch.zeros(batch, hidden, dtype=float)
    with torch.no_grad():
        for weight in (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0):
            weight.copy_(torch.from_numpy(generator.standard_normal(weight.shape)))
        layer.bias_hh_l0.zero_()
    outputs, _ = layer(x)
    named = arrays(outputs, generator, {"x": x} | dict(layer.named_parameters()), name="outputs")
    for ours, torchs in (("weight", "weight_ih_l0"), ("recurrent", "weight_hh_l0")):
        named[ours], named[f"d{ours}"] = named[torchs].T, named[f"d{torchs}"].T
    named["bias"], named["dbias"] = named["bias_ih_l0"], named["dbias_ih_l0"]
    every = np.concatenate([start.numpy()[None], named["outputs"]])
    named |= {"start": start.numpy(), "every state": every, "states": every[:-1]}
    return named | gates(named, hidden)


def no_gates(named, hidden):
    return {}


def lstm_gates(named, hidden):
    sums = named["x"] @ named["weight"] + named["bias"] + named["states"] @ named["recurrent"]
    i, f, g, o = np.split(sums, 4, axis=2)
    i, f, o, g = *(1 / (1 + np.exp(-part)) for part in (i, f, o)), np.tanh(g)
    cells = [np.zeros_like(i[0])]
    for step in range(len(i)):
        cells.append(f[step] * cells[-1] + i[step] * g[step])
    kept = {
        "gates": np.stack([i, f, g, o], axis=1),
        "cell": cells[0],
        "cells": np.stack(cells[:-1]),
    }
    return kept | {"every cell": np.stack(cells), "squashed": np.tanh(cells[1:])}


def gru_gates(named, hidden):
    driven = np.split(named["x"] @ named["weight"] + named["bias"], 3, axis=2)
    recalled = np.split(named["states"] @ named["recurrent"], 3, axis=2)
    r, z = (1 / (1 + np.exp(-driven[gate] - recalled[gate])) for gate in (0, 1))
    n = np.tanh(driven[2] + r * recalled[2])
    return {"gates": np.stack([r, z, n], axis=1), "recalled": recalled[2]}


@st.composite
def problems(draw, square=False):
    """Convolutions of every kind: groups, strides, ragged borders, kernels of any shape."""
    groups = draw(st.integers(1, 2))
    kernel = (
        (draw(st.integers(2, 3)),) * 2 if square else draw(st.tuples(*[st.integers(1, 3)] * 2))
    )
    stride = (1, 1) if square else draw(st.tuples(*[st.integers(1, 3)] * 2))
    padding = draw(st.tuples(*[st.integers(0, 3 if square else 2)] * 2))
    height, width = (
        draw(st.integers(max(1, side - 2 * space), 5))
        for side, space in zip(kernel, padding, strict=True)
    )
    channels = [groups * draw(st.integers(1, 2)) for _ in range(2)]
    batch = draw(st.integers(1, 2))
    return Convolution(
        batch, channels[0], height, width, channels[1], kernel, stride, padding, groups
    )


@st.composite
def tiled(draw):
    problem = draw(problems(square=True))
    transforms = matrices(draw(st.integers(1, 4)), problem.kernel[0])
    return {"problem": problem, "transforms": transforms, "bias": draw(st.booleans())}


@st.composite
def pooled(draw):
    kernel = draw(st.tuples(*[st.integers(1, 3)] * 2))
    stride = draw(st.none() | st.tuples(*[st.integers(1, 3)] * 2))
    padding = tuple(draw(st.integers(0, side // 2)) for side in kernel)  # torch allows no more
    height, width = (draw(st.integers(side, 5)) for side in kernel)
    planes = draw(st.integers(1, 2))
    return {"planes": planes, "height": height, "width": width,
            "kernel": kernel, "stride": stride, "padding": padding}  # fmt: skip


ANY = sizes(problem=problems(), bias=st.booleans())
NAMES = st.sampled_from(["relu", "sigmoid", "tanh", "gelu"])
SEQUENCE = sizes(batch=SMALL, steps=st.integers(1, 4), inputs=SMALL, hidden=SMALL)

CASES = [
    Case("activation", sizes(elements=SMALL, function=NAMES), activation),
    Case("fully_connected", sizes(batch=SMALL, inputs=SMALL, outputs=SMALL, bias=st.booleans()),
         fully_connected),
    *(Case(name, ANY, convolution) for name in ("direct", "im2col", "fft")),
    Case("winograd", tiled(), convolution),
    Case("max_pooling", pooled(), partial(pooling, functional.max_pool2d)),
    Case("average_pooling", pooled(), partial(pooling, functional.avg_pool2d)),
    Case("batch_normalisation", sizes(channels=SMALL, elements=st.integers(1, 20)),
         batch_normalisation),
    Case("layer_normalisation", sizes(rows=SMALL, features=st.integers(1, 20)),
         layer_normalisation),
    Case("softmax", sizes(rows=SMALL, columns=st.integers(1, 20)), softmax),
    Case("attention", sizes(batch=st.integers(1, 2), heads=st.integers(1, 2), queries=SMALL,
         keys=SMALL, features=SMALL, masked=st.booleans()), attention),
    Case("rnn", SEQUENCE, partial(recurrent, torch.nn.RNN, no_gates)),
    Case("lstm", SEQUENCE, partial(recurrent, torch.nn.LSTM, lstm_gates)),
    Case("gru", SEQUENCE, partial(recurrent, torch.nn.GRU, gru_gates)),
]  # fmt: skip
