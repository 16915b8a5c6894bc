"""A convolution carried out in micro-batches: the same result from the same numbers.

Outputs and input gradients of an example know nothing of the other examples: micro-batches fill
their part of one result. The weight's gradient is a sum over the batch, so theirs are added up:

    y[piece] = x[piece] * w        dw = sum over pieces of  x[piece] correlated with dy[piece]

Only the order of additions changes, and only in that sum. A *recipe* such as "fft:8*3 fft:4*1"
names methods, sizes and how many pieces of them, in order. A batch of another size uses the same
pieces again and again, the last one cut, so that the room never grows. What to look at: a piece's
result is copied and gone before the next one begins; at most one piece's workspace is held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, groupby
from typing import Any

from torch import Tensor

from ddl_teach.operators.convolution.methods import Method, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.micro_batches.offers import Division


def recipe(division: Division) -> str:
    """What an operator is told of a division."""
    return " ".join(
        f"{part.method}:{part.size}*{len([*same])}" for part, same in groupby(division.parts)
    )


def pieces(recipe: str, batch: int) -> Iterator[tuple[Method, slice]]:
    """The methods and the examples that each of them does, until all `batch` are done."""
    done = 0
    for part in cycle(recipe.split()):
        method, size, count = part.replace("*", ":").split(":")
        for _ in range(int(count)):
            if done >= batch:
                return
            until = min(done + int(size), batch)
            yield find(method), slice(done, until)
            done = until


def forward(x: Tensor, weight: Tensor, recipe: str, **how: Any) -> Tensor:
    """The output, piece by piece; `how` is stride, padding and groups."""
    (method, _), *others = pieces(recipe, len(x))
    if not others:
        return method.forward(x, weight, **how).contiguous()
    output = x.new_empty(Convolution.of(x, weight, **how).output_shape)
    for method, piece in pieces(recipe, len(x)):
        output[piece] = method.forward(x[piece], weight, **how)
    return output


def input_gradient(
    gradient: Tensor, weight: Tensor, x_shape: Sequence[int], recipe: str, **how: Any
) -> Tensor:
    """The input's gradient, piece by piece."""
    (method, _), *others = pieces(recipe, len(gradient))
    if not others:
        return method.input_gradient(gradient, weight, x_shape, **how).contiguous()
    total = gradient.new_empty(x_shape)
    for method, piece in pieces(recipe, len(gradient)):
        shape = (piece.stop - piece.start, *x_shape[1:])
        total[piece] = method.input_gradient(gradient[piece], weight, shape, **how)
    return total


def weight_gradient(
    x: Tensor, gradient: Tensor, weight_shape: Sequence[int], recipe: str, **how: Any
) -> Tensor:
    """The weight's gradient: those of all pieces added up."""
    (method, piece), *others = pieces(recipe, len(x))
    total = method.weight_gradient(x[piece], gradient[piece], weight_shape, **how).contiguous()
    for method, piece in others:
        total += method.weight_gradient(x[piece], gradient[piece], weight_shape, **how)
    return total
