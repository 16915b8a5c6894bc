"""Rules for the course's own convolutions, by the method that each is told to use.

Multiply-adds are those of the definition whatever the method, so that networks can be compared;
work is what the method's formula counts. The FFT's is the textbook's on a power of two.
"""

import re
from dataclasses import replace

from ddl_measure.analysis.records import Call, OperationCost
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.winograd_matrices import matrices
from ddl_teach.operators.micro_batches.divided import pieces
from ddl_teach.theory.work_depth import direct, fft, im2col, winograd
from ddl_teach.theory.work_depth.counting import NOTHING, WorkDepth, elementwise, tree_depth

FORMULAS = {"direct": direct, "im2col": im2col, "fft": fft}
PASSES = {"forward": "forward", "input_gradient": "x", "parameter_gradient": "weight"}


def convolution(call: Call) -> OperationCost | None:
    """One method for the whole batch."""
    return _cost(call, {name: [(call["method"], call["x"].shape[0])] for name in PASSES})


def micro_batched(call: Call) -> OperationCost | None:
    """The method is a recipe: it says for each pass which method does which part of the batch."""
    parts = {}
    for recipe in call["method"].split(";"):
        name, _, division = recipe.strip().partition(" ")
        parts[name.replace("weight", "parameter")] = [
            (method.name, piece.stop - piece.start)
            for method, piece in pieces(division, call["x"].shape[0])
        ]
    return _cost(call, parts)


def _cost(call: Call, parts: dict[str, list[tuple[str, int]]]) -> OperationCost | None:
    x, weight = call["x"].shape, call["weight"].shape
    whole = Convolution.of_shapes(x, weight, call["stride"], call["padding"], call["groups"])
    costs = {}
    for name, divided in parts.items():
        found = [_by_method(method, name, replace(whole, batch=n)) for method, n in divided]
        if None in found:
            return None
        one = NOTHING
        for part in found:
            one = one.beside(part)
        if name == "parameter_gradient" and len(found) > 1:  # of every part, added up
            sums = elementwise(call["weight"].elements, len(found) - 1)
            one = one.then(WorkDepth(sums.work, tree_depth(len(found))))
        costs[PASSES[name]] = one
    products = call.output.elements * (call["weight"].elements // weight[0])
    gradients = {name: costs[name] for name in ("x", "weight")}
    return OperationCost(costs["forward"], gradients, products, dict.fromkeys(gradients, products))


def _by_method(method: str, name: str, problem: Convolution) -> WorkDepth | None:
    if tile := re.fullmatch(r"winograd_(\d+)x\1", method):
        transforms = matrices(int(tile[1]), problem.kernel[0])
        return getattr(winograd, name)(problem, transforms)
    return getattr(FORMULAS[method], name)(problem) if method in FORMULAS else None


RULES = {
    "ddl_teach::convolution": convolution,
    "ddl_teach::micro_batched_convolution": micro_batched,
}
