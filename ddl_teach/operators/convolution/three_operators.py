"""A convolution and its two gradients as torch operators that are each other's derivatives.

    output = convolution(x, weight)    x's gradient = input_gradient(gradient, weight)
                                       weight's     = weight_gradient(x, gradient)

Each of the three is linear in both of its tensors, so the gradient of any of them is given by the
other two: that is the whole of autograd here, to any order. What to look at: neither shapes nor
derivatives ask how a convolution is computed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.library import CustomOpDef

from ddl_teach.operators.convolution.methods import Passes
from ddl_teach.operators.convolution.problem import Convolution

Way = Callable[[str, Convolution, Tensor, str, int | None], Passes]
"""(pass, sizes, a tensor like the data, method, limit) -> what computes it, or an error."""


def three_operators(name: str, way: Way) -> tuple[CustomOpDef, CustomOpDef, CustomOpDef]:
    """Tell torch of a convolution and of its gradients, as `ddl_teach::name` and so on.

    `method` says to `way` how to compute, within `limit` bytes of workspace.
    """

    @torch.library.custom_op(f"ddl_teach::{name}", mutates_args=())
    def convolution(
        x: Tensor, weight: Tensor, stride: Sequence[int], padding: Sequence[int], groups: int,
        method: str, limit: int | None,
    ) -> Tensor:  # fmt: skip
        problem = Convolution.of(x, weight, stride, padding, groups)
        passes = way("forward", problem, x, method, limit)
        return passes.forward(x, weight, problem).contiguous()

    @torch.library.custom_op(f"ddl_teach::{name}_input_gradient", mutates_args=())
    def input_gradient(
        gradient: Tensor, weight: Tensor, x_shape: Sequence[int], stride: Sequence[int],
        padding: Sequence[int], groups: int, method: str, limit: int | None,
    ) -> Tensor:  # fmt: skip
        problem = Convolution.of_shapes(x_shape, weight.shape, stride, padding, groups)
        passes = way("input_gradient", problem, gradient, method, limit)
        return passes.input_gradient(gradient, weight, problem).contiguous()

    @torch.library.custom_op(f"ddl_teach::{name}_weight_gradient", mutates_args=())
    def weight_gradient(
        x: Tensor, gradient: Tensor, weight_shape: Sequence[int], stride: Sequence[int],
        padding: Sequence[int], groups: int, method: str, limit: int | None,
    ) -> Tensor:  # fmt: skip
        problem = Convolution.of_shapes(x.shape, weight_shape, stride, padding, groups)
        passes = way("weight_gradient", problem, x, method, limit)
        return passes.weight_gradient(x, gradient, problem).contiguous()

    convolution.register_fake(_output_of)
    input_gradient.register_fake(lambda gradient, _, shape, *__: gradient.new_empty(shape))
    weight_gradient.register_fake(lambda x, _, shape, *__: x.new_empty(shape))

    def to_x(gradient: Tensor, x: Tensor, weight: Tensor, *numbers: Any) -> Tensor:
        return input_gradient(gradient, weight, x.shape, *numbers)

    def to_weight(gradient: Tensor, x: Tensor, weight: Tensor, *numbers: Any) -> Tensor:
        return weight_gradient(x, gradient, weight.shape, *numbers)

    _differentiable(convolution, 2, to_x, to_weight)
    _differentiable(
        input_gradient, 3,
        lambda x, _, weight, *numbers: convolution(x, weight, *numbers),
        lambda x, gradient, weight, *numbers: to_weight(gradient, x, weight, *numbers),
    )  # fmt: skip
    _differentiable(
        weight_gradient, 3,
        lambda weight, x, gradient, *numbers: to_x(gradient, x, weight, *numbers),
        lambda weight, x, _, *numbers: convolution(x, weight, *numbers),
    )  # fmt: skip
    return convolution, input_gradient, weight_gradient


def _output_of(x: Tensor, weight: Tensor, stride: Any, padding: Any, *_: Any) -> Tensor:
    sizes = [
        (size + 2 * space - kernel) // step + 1
        for size, space, kernel, step in zip(
            x.shape[2:], padding, weight.shape[2:], stride, strict=True
        )
    ]
    return x.new_empty(x.shape[0], weight.shape[0], *sizes)


def _differentiable(
    operator: CustomOpDef, before: int, of_first: Callable[..., Tensor],
    of_second: Callable[..., Tensor],
) -> None:  # fmt: skip
    """Tell an operator the derivatives by its two tensors; `before` arguments precede the numbers,
    of which stride and padding come first."""

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.numbers = inputs[before:]

    def backward(context: Any, arriving: Tensor) -> tuple[Tensor | None, ...]:
        first, second = context.saved_tensors
        wanted = context.needs_input_grad
        return (
            of_first(arriving, first, second, *context.numbers) if wanted[0] else None,
            of_second(arriving, first, second, *context.numbers) if wanted[1] else None,
            *[None] * (len(wanted) - 2),
        )

    operator.register_autograd(backward, setup_context=keep)
