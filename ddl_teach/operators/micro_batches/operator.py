"""The divided convolution as an operator of torch: a node of a graph, whose inside stays its own.

    convolve(x, weight, bias, stride, padding, groups, recipes)

`recipes` says how each of the three passes is divided, for instance

    forward fft:8*2; input_gradient im2col:16*1; weight_gradient im2col:4*2 im2col:8*1

What to look at: each pass is linear in both of its tensors, and its gradients are the other two
passes; so the three operators are their own derivatives, to any order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from ddl_teach.operators.convolution.operator import admitted
from ddl_teach.operators.convolution.problem import Convolution, pair
from ddl_teach.operators.convolution.three_operators import three_operators
from ddl_teach.operators.micro_batches import divided
from ddl_teach.operators.micro_batches.offers import Division

PASSES = ("forward", "input_gradient", "weight_gradient")


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
        x, weight, pair(stride, "stride", 1), pair(padding, "padding", 0), groups, recipes, None
    )
    # In place: a second result beside the first would be room that no plan knows of.
    return output if bias is None else output.add_(bias[:, None, None])


def by_recipe(
    direction: str, problem: Convolution, like: Tensor, recipes: str, limit: int | None
) -> divided.Divided:
    """One pass by its recipe, if its methods can do their pieces in the memory that is free."""
    recipe = dict(part.strip().split(" ", 1) for part in recipes.split(";"))[direction]
    largest: dict[str, int] = {}
    for method, piece in divided.pieces(recipe, problem.batch):
        largest[method.name] = max(largest.get(method.name, 0), piece.stop - piece.start)
    for name, size in largest.items():
        admitted(name, replace(problem, batch=size), like, limit, direction, problem)
    return divided.Divided(recipe)


convolution, input_gradient, weight_gradient = three_operators(
    "micro_batched_convolution", by_recipe
)
