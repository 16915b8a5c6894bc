"""Rules for what multiplies matrices: fully connected layers, convolutions, attention.

A product of (rows x inner) with (inner x columns) multiplies and adds rows * inner * columns
times, and so do both of its gradients: each of the three indices is summed over once. So the
backward pass of such a layer costs twice its forward pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_teach.theory.work_depth import attention as attention_formula
from ddl_teach.theory.work_depth import direct, fully_connected
from ddl_teach.theory.work_depth.counting import (
    WorkDepth,
    elementwise,
    matrix_product,
    summation,
    tree_depth,
)


def linear(call: Call) -> OperationCost:
    """y = x W^T + b, for every row of x."""
    outputs, inputs = call["weight"].shape
    rows = call["input"].elements // inputs
    biased = call.get("bias") is not None
    products = rows * inputs * outputs
    gradients = {
        "input": fully_connected.input_gradient(rows, inputs, outputs),
        "weight": fully_connected.parameter_gradient(rows, inputs, outputs, bias=False),
        "bias": summation(rows).copies(outputs),
    }
    return OperationCost(
        fully_connected.forward(rows, inputs, outputs, bias=biased),
        gradients,
        products,
        {"input": products, "weight": products},
    )


def product(left: str, right: str, added: str = "") -> Rule:
    """The rule of a matrix product between two named arguments, and of what is added to it."""

    def rule(call: Call) -> OperationCost:
        one, other = call[left].shape, call[right].shape
        rows, inner = (1, *one)[-2:]
        columns = other[-1] if len(other) > 1 else 1
        batch = call.output.elements // max(1, rows * columns)
        products = batch * rows * inner * columns
        forward = matrix_product(rows, inner, columns, batch)
        to_left = matrix_product(rows, columns, inner, batch)
        to_right = matrix_product(inner, rows, columns, batch)
        gradients = {
            # Where all members of a batch share one of the matrices, its gradients are added up.
            left: to_left.then(broadcast_gradient(batch * rows * inner, call[left].elements)),
            right: to_right.then(
                broadcast_gradient(batch * inner * columns, call[right].elements)
            ),
        }
        if added:
            forward = forward.then(elementwise(call.output.elements))
            gradients[added] = broadcast_gradient(call.output.elements, call[added].elements)
        return OperationCost(forward, gradients, products, {left: products, right: products})

    return rule


def broadcast_gradient(made: int, elements: int) -> WorkDepth:
    """The sum of gradients of what was copied to many places: one for each of `elements`."""
    if not elements or made <= elements:
        return WorkDepth(0, 0)
    return WorkDepth(made - elements, tree_depth(-(-made // elements)))


@dataclass(frozen=True)
class ConvolutionSizes:
    """A convolution in two dimensions, as the formulas want it."""

    batch: int
    in_channels: int
    height: int
    width: int
    out_channels: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    groups: int
    output_height: int
    output_width: int


def convolution(call: Call) -> OperationCost:
    """A convolution in one, two or three dimensions, each output a dot product."""
    weight, x, bias = call["weight"], call["input"], call.get("bias")
    products = call.output.elements * math.prod(weight.shape[1:])
    dims = len(weight.shape) - 2
    groups = call.get("groups", 1)
    taps = math.prod(weight.shape[1:])
    places = call.output.elements // weight.shape[0]
    plain = dims == 2 and set(as_pair(call.get("dilation", 1))) == {1}
    padding = call.get("padding", 0)
    if plain and padding != "same":
        shape = ConvolutionSizes(
            x.shape[0] if len(x.shape) == 4 else 1,
            *x.shape[-3:],
            weight.shape[0],
            weight.shape[2:],
            as_pair(call.get("stride", 1)),
            as_pair(0 if padding == "valid" else padding),
            groups,
            *call.output.shape[-2:],
        )
        to_input = direct.input_gradient(shape)
    else:
        terms = weight.shape[0] // groups * math.prod(weight.shape[2:])
        to_input = WorkDepth(max(0, 2 * products - x.elements), 1 + tree_depth(terms))
    one = WorkDepth(2 * taps, 1 + tree_depth(taps + 1)) if bias else matrix_product(1, taps, 1)
    gradients = {
        "input": to_input,
        "weight": matrix_product(taps, places, weight.shape[0]),
        "bias": summation(places).copies(weight.shape[0]),
    }
    forward = one.copies(call.output.elements)
    return OperationCost(forward, gradients, products, {"input": products, "weight": products})


def transposed_convolution(call: Call) -> OperationCost:
    """A convolution's input gradient taken as a layer: the two passes change places."""
    weight, x = call["weight"], call["input"]
    taps = math.prod(weight.shape[1:])  # outputs that each input number goes to
    products = x.elements * taps
    terms = weight.shape[0] // call.get("groups", 1) * math.prod(weight.shape[2:])
    outputs = call.output.elements
    forward = WorkDepth(max(0, 2 * products - outputs), 1 + tree_depth(terms))
    if call.get("bias") is not None:
        forward = forward.then(elementwise(outputs))
    channels = call["bias"].elements if call.get("bias") is not None else 1
    gradients = {
        "input": matrix_product(1, taps, 1).copies(x.elements),
        "weight": matrix_product(taps, x.elements // weight.shape[0], weight.shape[0]),
        "bias": summation(outputs // channels).copies(channels),
    }
    return OperationCost(forward, gradients, products, {"input": products, "weight": products})


def as_pair(number: int | tuple[int, ...] | list[int]) -> tuple[int, int]:
    """A number for both dimensions, or one for each."""
    numbers = (number,) if isinstance(number, int) else tuple(number)
    return (numbers * 2)[:2]


def attention(call: Call) -> OperationCost:
    """Softmax of the scores of queries and keys, times the values; a mask hides, but costs."""
    queries, keys, values = call["query"], call["key"], call["value"]
    *outer, count, features = queries.shape
    seen, deep = keys.shape[-2], values.shape[-1]
    masked = bool(call.get("is_causal")) or call.get("attn_mask") is not None
    batch = math.prod(outer)
    forward = attention_formula.forward(batch, 1, count, seen, features, masked)
    backward = attention_formula.input_gradient(batch, 1, count, seen, features, masked)
    scores, mixed = batch * count * seen * features, batch * count * seen * deep
    # The three gradients share their stages: they are counted once, at the queries.
    return OperationCost(
        forward,
        {"query": backward, "key": WorkDepth(0, backward.depth), "value": WorkDepth(0, 0)},
        scores + mixed,
        {"query": scores + mixed, "key": scores, "value": mixed},
    )


RULES: dict[str, Rule] = {
    "aten::linear": linear,
    "aten::mm": product("self", "mat2"),
    "aten::bmm": product("self", "mat2"),
    "aten::matmul": product("self", "other"),
    "aten::mv": product("self", "vec"),
    "aten::dot": product("self", "tensor"),
    "aten::addmm": product("mat1", "mat2", "self"),
    "aten::baddbmm": product("batch1", "batch2", "self"),
    "aten::conv1d": convolution,
    "aten::conv2d": convolution,
    "aten::conv3d": convolution,
    "aten::convolution": convolution,
    "aten::conv_transpose1d": transposed_convolution,
    "aten::conv_transpose2d": transposed_convolution,
    "aten::conv_transpose3d": transposed_convolution,
    "aten::scaled_dot_product_attention": attention,
}
