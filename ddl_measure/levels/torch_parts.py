"""torch's networks and optimizers as plain functions, for the harness.

torch keeps what the way back needs in a graph that hangs on the result. Between two parts the
graph is cut, so that each part's backward is its own; the gradients of weights are thrown away
before each pass, as a training does. What to look at: the sum over parts against one backward pass
through all of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ddl_measure.levels.networks import Part


def torch_parts(network: nn.Sequential) -> tuple[Part, ...]:
    """One part for each child, by its name."""
    if not isinstance(network, nn.Sequential):
        raise TypeError(
            f"torch_parts cuts an nn.Sequential between its children, not {type(network).__name__}"
            "; of any other module make one part: torch_part(name, module)"
        )
    return tuple(torch_part(name, child) for name, child in network.named_children())


def torch_part(name: str, module: nn.Module) -> Part:
    """Any module of one tensor in, one tensor out."""
    passed: list[tuple[Tensor, Tensor]] = []

    def forward(x: Tensor) -> Tensor:
        own = x.detach()
        if own.is_floating_point():
            own.requires_grad_()
        passed[:] = [(own, module(own))]
        return passed[0][1].detach()

    def backward(_: Tensor, towards: Tensor) -> Tensor | None:
        if not passed:
            raise RuntimeError(f"{name}: call forward before backward")
        own, result = passed.pop()
        if result.requires_grad:
            result.backward(towards)
        return own.grad

    return Part(name, forward, backward, lambda: module.zero_grad(set_to_none=True))


def for_arrays(part: Part) -> Part:
    """The same part for NumPy's arrays: for a gradient check, or beside functions of arrays."""

    def forward(x: np.ndarray) -> np.ndarray:
        return part.forward(torch.from_numpy(x)).numpy()

    def backward(x: np.ndarray, towards: np.ndarray) -> np.ndarray:
        part.forward(torch.from_numpy(x))  # the last one may have been of another x
        return part.backward(torch.from_numpy(x), torch.from_numpy(towards)).numpy()

    return Part(part.name, forward, backward, part.forget)


def torch_rule(
    optimizer: Callable[..., Any], **settings: Any
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """One of torch.optim's classes as a plain function of weights and gradient."""
    made: list[tuple[nn.Parameter, Any]] = []

    def rule(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        if not made:
            parameter = nn.Parameter(torch.from_numpy(weights.copy()))
            made.append((parameter, optimizer([parameter], **settings)))
        parameter, steps = made[0]
        parameter.data.copy_(torch.from_numpy(weights))
        parameter.grad = torch.from_numpy(gradient)
        steps.step()
        return parameter.detach().numpy().copy()

    return rule
