"""Clipping by the norm of all gradients, wherever they lie.

    norm    = sqrt(sum over all ranks of (squares of its gradients / copies of them))
    factor  = min(1, limit / (norm + 1e-6)), the same on every rank, as torch's own

Cost: one all-reduce of one number. Pascanu, Mikolov and Bengio, "On the difficulty of training
recurrent neural networks", 2013.
What to look at: the norm of a rank's own part is too small. Each part would be clipped by another
factor, and the direction of the step would change. And what several ranks hold, as the
normalisations under tensor parallelism, must count once.
"""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from ddl_teach.collectives.recursive_doubling import allreduce
from ddl_teach.comm import Comm


def check_limit(limit: float) -> None:
    """Refuse what gradients cannot be shortened to."""
    if not limit > 0:
        raise ValueError(f"clip: the limit is {limit!r}, and must be larger than 0")


def clip(
    comm: Comm,
    parameters: Iterable[nn.Parameter],
    limit: float,
    copies: Callable[[nn.Parameter], int] = lambda parameter: 1,
) -> float:
    """Shorten all gradients together to at most `limit`; returns the norm that they had, each
    counted once: `copies` says how many of the ranks hold a parameter. All ranks must call it."""
    check_limit(limit)
    own = [(each, each.grad) for each in parameters if each.grad is not None]
    squares = torch.zeros(1, dtype=torch.float64)
    for parameter, gradient in own:
        squares += gradient.abs().double().square().sum().cpu() / copies(parameter)
    allreduce(comm, squares)
    norm = squares.sqrt().item()
    factor = min(1.0, limit / (norm + 1e-6))
    for _, gradient in own:
        gradient.mul_(factor)
    return norm
