"""Convolution as a torch operator: any method by name, with gradients by the same method.

Forward pass and both gradients are three operators, which `three_operators` makes.

What to look at: registered with torch.library, the operator is a node like torch's own: autograd,
torch.compile and torch.export see its name and its shapes, not its inside.
"""

import math
from collections.abc import Sequence

import psutil
import torch
from torch import Tensor, fx

from ddl_teach.operators.convolution.chooser import choose
from ddl_teach.operators.convolution.methods import METHODS, Algorithm, Method, find
from ddl_teach.operators.convolution.problem import Convolution, pair
from ddl_teach.operators.convolution.three_operators import three_operators

TENSORS = (Tensor, fx.Proxy)  # the latter stand in for them where a graph is written down


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    groups: int = 1,
    method: str = "im2col",
    limit: int | None = None,
) -> Tensor:
    """The convolution of x and weight by a method of that name, or "auto"; differentiable.

    A convolution that the method cannot do, whose workspace needs more than `limit` bytes, or
    which with its result needs more than the memory that is free, is refused before any is taken.
    """
    if not (isinstance(x, TENSORS) and isinstance(weight, TENSORS)):
        Convolution.of(x, weight)  # says which of them is none
    if method != "auto":
        find(method)
    stride, padding = pair(stride, "stride", 1), pair(padding, "padding", 0)
    output = convolution(x, weight, stride, padding, groups, method, limit)
    # In place: a second result beside the first would be memory that nobody has asked for.
    return output if bias is None else output.add_(bias[:, None, None])


def admitted(
    name: str,
    problem: Convolution,
    like: Tensor,
    limit: int | None = None,
    direction: str = "forward",
    whole: Convolution | None = None,
) -> Method:
    """The method, if it can do this convolution within the limit and the free memory.

    The result must fit beside the workspace; it is that of the `whole` batch, where only a part of
    it is done at a time.
    """
    if name == "auto":
        name = choose(problem, direction=direction, dtype=like.dtype, limit=limit).method
    method = find(name)
    able = [other for other in METHODS.values() if not other.refusal(problem, like.dtype)]
    if reason := method.refusal(problem, like.dtype):
        others = ", ".join(other.name for other in able)
        raise ValueError(f"method={name!r} cannot: {reason}. These can: {others}")
    result = result_bytes(whole or problem, direction, like.dtype)
    needed, free = method.workspace(problem, like.dtype), free_bytes(like.device) - result
    if free < 0:
        raise MemoryError(
            f"the result takes {result:,} bytes, more than the {free + result:,} that are free: "
            "cut the batch into smaller ones"
        )
    allowed = free if limit is None else min(limit, free)
    if needed <= allowed:
        return method
    bound = f"the {free:,} bytes that are free beside its result"
    if allowed == limit:
        bound = f"limit={limit:,}"
    needs = {other.name: other.workspace(problem, like.dtype) for other in able}
    fitting = [f"{other} ({size:,})" for other, size in needs.items() if size <= allowed]
    least = min(needs, key=needs.__getitem__)
    advice = f"the least takes {least!r}, {needs[least]:,}: allow that, or cut the batch in parts"
    if fitting:
        advice = f"these would fit: {', '.join(fitting)}"
    raise MemoryError(
        f"method={name!r} needs a workspace of {needed:,} bytes, more than {bound}; {advice}"
    )


def result_bytes(problem: Convolution, direction: str, dtype: torch.dtype) -> int:
    """What a pass gives back: an output, or the gradient of x or of weight."""
    shapes = {
        "forward": problem.output_shape,
        "input_gradient": problem.x_shape,
        "weight_gradient": problem.weight_shape,
    }
    return math.prod(shapes[direction]) * dtype.itemsize


def free_bytes(device: torch.device) -> int:
    """Bytes that could still be taken on this device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available


def by_name(
    direction: str, problem: Convolution, like: Tensor, method: str, limit: int | None
) -> Algorithm:
    """What computes a pass by the method of that name."""
    return admitted(method, problem, like, limit, direction).algorithm


convolution, input_gradient, weight_gradient = three_operators("convolution", by_name)
