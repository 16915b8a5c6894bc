"""Convolution as a torch operator: any method by name, with gradients by the same method.

What to look at: registered with torch.library, the operator is a node like torch's own: autograd,
torch.compile and torch.export see its name and its shapes, not its inside.
"""

import math
from collections.abc import Sequence

import psutil
import torch
from torch import Tensor, fx

from ddl_teach.operators.convolution.chooser import choose
from ddl_teach.operators.convolution.methods import METHODS, Algorithm, find
from ddl_teach.operators.convolution.problem import Convolution, sizes_of
from ddl_teach.operators.convolution.three_operators import three_operators
from ddl_teach.theory.convolution_sizes import pair

TENSORS = (Tensor, fx.Proxy)  # the latter stand in for them where a graph is written down


def convolve(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, groups: int = 1, method: str = "im2col",
    limit: int | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of x and weight by a method of that name, or "auto"; differentiable. One
    whose workspace needs more than `limit` bytes, or more than is free, is refused."""
    if not (isinstance(x, TENSORS) and isinstance(weight, TENSORS)):
        sizes_of(x, weight)  # says which of them is none
    if method != "auto":
        find(method)
    stride, padding = pair(stride, "stride", 1), pair(padding, "padding", 0)
    output = convolution(x, weight, stride, padding, groups, method, limit)
    # In place: a second result beside the first would be memory that was not asked for.
    return output if bias is None else output.add_(bias[:, None, None])


def admitted(
    direction: str,
    problem: Convolution,
    like: Tensor,
    name: str,
    limit: int | None = None,
    whole: Convolution | None = None,
) -> Algorithm:
    """The method's algorithm, if it can do this pass within the limit and the free memory. The
    memory must hold the result too: that of the `whole` batch if a part is done at a time.
    """
    if name == "auto":
        name = choose(problem, direction=direction, dtype=like.dtype, limit=limit).method
    method = find(name)
    able = [other for other in METHODS.values() if not other.refusal(problem, like.dtype)]
    if reason := method.refusal(problem, like.dtype):
        others = ", ".join(other.name for other in able)
        raise ValueError(f"method={name!r} cannot: {reason}. These can: {others}")
    all_of_it = whole or problem
    shapes = {"forward": all_of_it.output_shape, "input_gradient": all_of_it.x_shape}
    result = math.prod(shapes.get(direction, all_of_it.weight_shape)) * like.dtype.itemsize
    needed, free = method.workspace(problem, like.dtype), free_bytes(like.device) - result
    if free < 0:
        beyond = f"more than the {free + result:,} that are free"
        raise MemoryError(f"the result takes {result:,} bytes, {beyond}: cut the batch into parts")
    allowed = free if limit is None else min(limit, free)
    if needed <= allowed:
        return method.algorithm
    free_now = f"the {free:,} bytes that are free beside its result"
    bound = f"limit={limit:,}" if allowed == limit else free_now
    needs = {other.name: other.workspace(problem, like.dtype) for other in able}
    fitting = [f"{other} ({size:,})" for other, size in needs.items() if size <= allowed]
    least = min(needs, key=needs.__getitem__)
    advice = f"the least takes {least!r}, {needs[least]:,}: allow that, or cut the batch in parts"
    if fitting:
        advice = f"these would fit: {', '.join(fitting)}"
    workspace = f"a workspace of {needed:,} bytes, more than {bound}"
    raise MemoryError(f"method={name!r} needs {workspace}; {advice}")


def free_bytes(device: torch.device) -> int:
    """The bytes that are free on this device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available


convolution, input_gradient, weight_gradient = three_operators("convolution", admitted)
