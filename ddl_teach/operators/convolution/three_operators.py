"""A convolution and its two gradients as torch operators that are each other's derivatives.

    output = convolution(x, weight)    x's gradient = input_gradient(gradient, weight)
                                       weight's     = weight_gradient(x, gradient)

Each is the derivative of sum(gradient * convolution(x, weight)) by the tensor that it is not
given. That sum is linear in all three, so the derivative of a pass is another pass, to any order.
Neither shapes nor derivatives ask how a convolution is computed.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.library import CustomOpDef

from ddl_teach.operators.convolution.methods import Passes
from ddl_teach.operators.convolution.problem import Convolution, sizes_of

Way = Callable[[str, Convolution, Tensor, str, int | None], Passes]
"""(pass, sizes, a tensor like the data, method, limit) -> what computes it, or an error."""

GIVEN = {  # by the tensor that is missing: the pass, and the two tensors that it is given
    "gradient": ("forward", ("x", "weight")),
    "x": ("input_gradient", ("gradient", "weight")),
    "weight": ("weight_gradient", ("x", "gradient")),
}
NUMBERS = "SymInt[] stride, SymInt[] padding, SymInt groups, str method, SymInt? limit"


def three_operators(name: str, way: Way) -> list[CustomOpDef]:
    """Tell torch of a convolution and of its gradients, as `ddl_teach::name` and so on."""
    operators: dict[str, CustomOpDef] = {}

    def call(missing: str, tensors: dict[str, Tensor], numbers: tuple[Any, ...]) -> Tensor:
        first, second = (tensors[given] for given in GIVEN[missing][1])
        shape = () if missing == "gradient" else (tensors[missing].shape,)
        return operators[missing](first, second, *shape, *numbers)

    for missing in GIVEN:
        operators[missing] = _operator(name, way, missing, call)
    return list(operators.values())


def _operator(name: str, way: Way, missing: str, call: Callable[..., Tensor]) -> CustomOpDef:
    """The operator that is given all tensors but `missing`; its derivatives are the other two."""
    direction, given = GIVEN[missing]
    forward = missing == "gradient"

    def compute(first: Tensor, second: Tensor, *numbers: Any) -> Tensor:
        *shape, stride, padding, groups, method, limit = numbers
        if forward:
            problem = sizes_of(first, second, stride, padding, groups)
        else:
            shapes = {given[0]: first.shape, given[1]: second.shape, missing: shape[0]}
            both = shapes["x"], shapes["weight"]
            problem = Convolution.of_shapes(*both, stride, padding, groups)
        passes = way(direction, problem, first, method, limit)
        return getattr(passes, direction)(first, second, problem).contiguous()

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.numbers = inputs[2 if forward else 3 :]

    def backward(context: Any, arriving: Tensor) -> tuple[Tensor | None, ...]:
        wanted = context.needs_input_grad
        tensors = dict(zip(given, context.saved_tensors, strict=True)) | {missing: arriving}
        gradients = [
            call(tensor, tensors, context.numbers) if needed else None
            for tensor, needed in zip(given, wanted[:2], strict=True)
        ]
        return *gradients, *[None] * (len(wanted) - 2)

    shape = "" if forward else f"SymInt[] {missing}_shape, "
    operator = torch.library.custom_op(
        f"ddl_teach::{name}" + ("" if forward else f"_{direction}"), compute, mutates_args=(),
        schema=f"(Tensor {given[0]}, Tensor {given[1]}, {shape}{NUMBERS}) -> Tensor",
    )  # fmt: skip
    operator.register_fake(
        _output_of if forward else lambda gradient, _, size, *__: gradient.new_empty(size)
    )
    operator.register_autograd(backward, setup_context=keep)
    return operator


def _output_of(x: Tensor, weight: Tensor, stride: Any, padding: Any, *_: Any) -> Tensor:
    axes = zip(x.shape[2:], padding, weight.shape[2:], stride, strict=True)
    sizes = [(size + 2 * space - kernel) // step + 1 for size, space, kernel, step in axes]
    return x.new_empty(x.shape[0], weight.shape[0], *sizes)
