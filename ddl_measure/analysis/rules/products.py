"""Rules for what multiplies matrices: fully connected layers, convolutions, attention.

A product of (rows x inner) with (inner x columns) multiplies and adds rows * inner * columns
times, and so do both of its gradients: each of the three indices is summed over once. So the
backward pass of such a layer costs twice its forward pass.
The course's own convolutions go by the method that each uses. Multiply-adds are those of
the definition whatever the method, so that networks can be compared; work is what the method's
formula counts. The FFT's is the textbook's on a power of two.
"""

import math
import re
from dataclasses import replace

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.winograd_matrices import matrices
from ddl_teach.operators.divided_batches.divided import pieces
from ddl_teach.theory.work_depth import attention as attention_formula
from ddl_teach.theory.work_depth import direct, fft, fully_connected, im2col, winograd
from ddl_teach.theory.work_depth.counting import (
    NOTHING,
    WorkDepth,
    dot,
    elementwise,
    matrix_product,
    summation,
    tree_depth,
)

FORMULAS = {"direct": direct, "im2col": im2col, "fft": fft}
PASSES = {"forward": "forward", "input_gradient": "x", "parameter_gradient": "weight"}


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
    forward = fully_connected.forward(rows, inputs, outputs, bias=biased)
    return OperationCost(forward, gradients, products, {"input": products, "weight": products})


def product(left: str, right: str, added: str = "") -> Rule:
    """The rule of a matrix product between two named arguments, and of what is added to it."""

    def rule(call: Call) -> OperationCost:
        first, other = call[left].shape, call[right].shape
        rows, inner = (1, *first)[-2:]
        columns = other[-1] if len(other) > 1 else 1
        batch = call.output.elements // max(1, rows * columns)
        products = batch * rows * inner * columns
        forward = matrix_product(rows, inner, columns, batch)
        to_left = matrix_product(rows, columns, inner, batch)
        to_right = matrix_product(inner, rows, columns, batch)
        # Where all members of a batch share one of the matrices, its gradients are added up.
        shared_left = broadcast_gradient(batch * rows * inner, call[left].elements)
        shared_right = broadcast_gradient(batch * inner * columns, call[right].elements)
        gradients = {left: to_left.then(shared_left), right: to_right.then(shared_right)}
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


def convolution(call: Call) -> OperationCost:
    """A convolution in one, two or three dimensions, each output a dot product."""
    weight, x = call["weight"], call["input"]
    taps, groups, padding = (
        math.prod(weight.shape[1:]), call.get("groups", 1), call.get("padding", 0)
    )  # fmt: skip
    products = call.output.elements * taps
    places = call.output.elements // weight.shape[0]
    undilated = len(weight.shape) == 4 and set(as_pair(call.get("dilation", 1))) == {1}
    if undilated and padding != "same":
        images = (1,) * (4 - len(x.shape)) + x.shape
        around = as_pair(0 if padding == "valid" else padding)
        stride = as_pair(call.get("stride", 1))
        shape = Convolution.of_shapes(images, weight.shape, stride, around, groups)
        to_input = direct.input_gradient(shape)
    else:
        terms = weight.shape[0] // groups * math.prod(weight.shape[2:])
        to_input = WorkDepth(max(0, 2 * products - x.elements), 1 + tree_depth(terms))
    biased = call.get("bias") is not None
    output = WorkDepth(2 * taps, 1 + tree_depth(taps + 1)) if biased else dot(taps)
    gradients = {
        "input": to_input,
        "weight": matrix_product(taps, places, weight.shape[0]),
        "bias": summation(places).copies(weight.shape[0]),
    }
    forward = output.copies(call.output.elements)
    return OperationCost(forward, gradients, products, {"input": products, "weight": products})


def transposed_convolution(call: Call) -> OperationCost:
    """A convolution's input gradient taken as a layer: the two passes change places."""
    weight, x = call["weight"], call["input"]
    taps = math.prod(weight.shape[1:])  # outputs that each input number goes to
    products = x.elements * taps
    terms = weight.shape[0] // call.get("groups", 1) * math.prod(weight.shape[2:])
    outputs = call.output.elements
    forward, channels = WorkDepth(max(0, 2 * products - outputs), 1 + tree_depth(terms)), 1
    if call.get("bias") is not None:
        forward, channels = forward.then(elementwise(outputs)), call["bias"].elements
    gradients = {
        "input": dot(taps).copies(x.elements),
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


def own_convolution(call: Call) -> OperationCost | None:
    """The course's own convolution, by one method for the whole batch; None if this method has no
    count."""
    return _own(call, {name: [(call["method"], call["x"].shape[0])] for name in PASSES})


def divided_convolution(call: Call) -> OperationCost | None:
    """The course's own convolution in pieces: the recipe names methods and parts for each
    pass."""
    parts = {}
    for recipe in call["method"].split(";"):
        name, _, division = recipe.strip().partition(" ")
        parts[name.replace("weight", "parameter")] = [
            (method.name, piece.stop - piece.start)
            for method, piece in pieces(division, call["x"].shape[0])
        ]
    return _own(call, parts)


def _own(call: Call, parts: dict[str, list[tuple[str, int]]]) -> OperationCost | None:
    x, weight = call["x"].shape, call["weight"].shape
    whole = Convolution.of_shapes(x, weight, call["stride"], call["padding"], call["groups"])
    costs = {}
    for name, divided in parts.items():
        of_parts = [_by_method(method, name, replace(whole, batch=n)) for method, n in divided]
        if None in of_parts:
            return None
        cost = NOTHING
        for part in of_parts:
            cost = cost.beside(part)
        if name == "parameter_gradient" and len(of_parts) > 1:  # of every part, added up
            sums = elementwise(call["weight"].elements, len(of_parts) - 1)
            cost = cost.then(WorkDepth(sums.work, tree_depth(len(of_parts))))
        costs[PASSES[name]] = cost
    products = call.output.elements * (call["weight"].elements // weight[0])
    gradients = {name: costs[name] for name in ("x", "weight")}
    return OperationCost(costs["forward"], gradients, products, dict.fromkeys(gradients, products))


def _by_method(method: str, name: str, problem: Convolution) -> WorkDepth | None:
    if tile := re.fullmatch(r"winograd_(\d+)x\1", method):
        transforms = matrices(int(tile[1]), problem.kernel[0])
        return getattr(winograd, name)(problem, transforms)
    return getattr(FORMULAS[method], name)(problem) if method in FORMULAS else None


RULES: dict[str, Rule] = {
    "aten::linear": linear,
    "aten::mm": product("self", "mat2"),
    "aten::bmm": product("self", "mat2"),
    "aten::matmul": product("self", "other"),
    "aten::mv": product("self", "vec"),
    "aten::dot": product("self", "tensor"),
    "aten::addmm": product("mat1", "mat2", "self"),
    "aten::baddbmm": product("batch1", "batch2", "self"),
    **{f"aten::conv{dims}d": convolution for dims in (1, 2, 3)},
    "aten::convolution": convolution,
    **{f"aten::conv_transpose{dims}d": transposed_convolution for dims in (1, 2, 3)},
    "aten::scaled_dot_product_attention": attention,
    "ddl_teach::convolution": own_convolution,
    "ddl_teach::divided_convolution": divided_convolution,
}
