"""The divided convolution as an operator of torch: a node of a graph, whose inside stays its own.

    convolve(x, weight, bias, stride, padding, groups, recipes)

`recipes` says how each of the three passes is divided, for instance

    forward fft:8*2; input_gradient im2col:16*1; weight_gradient im2col:4*2 im2col:8*1

What to look at: each pass is linear in both of its tensors, and its gradients are the other two
passes; so the three operators are their own derivatives, to any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ddl_teach.operators.convolution.operator import admitted
from ddl_teach.operators.convolution.problem import Convolution, pair
from ddl_teach.operators.convolution.three_operators import join
from ddl_teach.operators.micro_batches import divided
from ddl_teach.operators.micro_batches.offers import Division

PASSES = ("forward", "input_gradient", "weight_gradient")
Shape = Sequence[int]


def recipes_of(divisions: Mapping[str, Division]) -> str:
    """The operator's `recipes`; a gradient that has no division has the forward pass's."""
    return "; ".join(
        f"{name} {divided.recipe(divisions.get(name, divisions['forward']))}" for name in PASSES
    )


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    groups: int,
    recipes: str,
) -> Tensor:
    """The convolution of x and weight in micro-batches; differentiable."""
    output = convolution(
        x, weight, pair(stride, "stride", 1), pair(padding, "padding", 0), groups, recipes
    )
    # In place: a second result beside the first would be room that no plan knows of.
    return output if bias is None else output.add_(bias[:, None, None])


@torch.library.custom_op("ddl_teach::micro_batched_convolution", mutates_args=())
def convolution(
    x: Tensor, weight: Tensor, stride: Shape, padding: Shape, groups: int, recipes: str
) -> Tensor:
    """The operator itself."""
    problem = Convolution.of(x, weight, stride, padding, groups)
    recipe = _admitted("forward", recipes, problem, x)
    return divided.forward(x, weight, recipe, **_how(problem))


@torch.library.custom_op("ddl_teach::micro_batched_input_gradient", mutates_args=())
def input_gradient(
    gradient: Tensor,
    weight: Tensor,
    x_shape: Shape,
    stride: Shape,
    padding: Shape,
    groups: int,
    recipes: str,
) -> Tensor:
    """The gradient of the operator's input."""
    problem = Convolution.of_shapes(x_shape, weight.shape, stride, padding, groups)
    recipe = _admitted("input_gradient", recipes, problem, gradient)
    return divided.input_gradient(gradient, weight, x_shape, recipe, **_how(problem))


@torch.library.custom_op("ddl_teach::micro_batched_weight_gradient", mutates_args=())
def weight_gradient(
    x: Tensor,
    gradient: Tensor,
    weight_shape: Shape,
    stride: Shape,
    padding: Shape,
    groups: int,
    recipes: str,
) -> Tensor:
    """The gradient of the operator's weight."""
    problem = Convolution.of_shapes(x.shape, weight_shape, stride, padding, groups)
    recipe = _admitted("weight_gradient", recipes, problem, x)
    return divided.weight_gradient(x, gradient, weight_shape, recipe, **_how(problem))


def _admitted(direction: str, recipes: str, problem: Convolution, like: Tensor) -> str:
    """The recipe of one pass, if its methods can do their pieces in the memory that is free."""
    by_pass = dict(part.strip().split(" ", 1) for part in recipes.split(";"))
    recipe = by_pass[direction]
    largest: dict[str, int] = {}
    for method, piece in divided.pieces(recipe, problem.batch):
        largest[method.name] = max(largest.get(method.name, 0), piece.stop - piece.start)
    for name, size in largest.items():
        admitted(name, replace(problem, batch=size), like, None, direction, problem)
    return recipe


def _how(problem: Convolution) -> dict[str, Any]:
    return {"stride": problem.stride, "padding": problem.padding, "groups": problem.groups}


join(convolution, input_gradient, weight_gradient)
