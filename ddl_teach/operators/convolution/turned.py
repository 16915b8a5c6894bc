"""The input's gradient is a convolution too: of the output's gradient, under the kernel turned.

Output p saw input p + i through weight i; so input y hears from outputs y - i. At stride one that
is the sum of a convolution, with the kernel turned round in both directions, inputs and outputs
exchanged, and a border of kernel - 1 - padding zeros. A stride comes in by its phases.
What to look at: a method that has a forward pass has this gradient, at the same cost.
"""

from __future__ import annotations

from torch import Tensor

from ddl_teach.operators.convolution.problem import Convolution, Pair


def turned(gradient: Tensor, weight: Tensor, problem: Convolution) -> tuple[Tensor, Tensor, Pair]:
    """The `x`, `weight` and padding whose convolution at stride one is the input's gradient."""
    swapped = weight.unflatten(0, (problem.groups, -1)).transpose(1, 2).flatten(0, 1)
    border = [size - 1 - problem.padding[axis] for axis, size in enumerate(problem.kernel)]
    # Outputs that saw nothing but padding tell nothing: a negative border cuts them off.
    down, across = (max(0, -space) for space in border)
    height, width = gradient.shape[2:]
    inside = gradient[:, :, down : height - down, across : width - across]
    return inside, swapped.flip(2, 3), (max(0, border[0]), max(0, border[1]))
