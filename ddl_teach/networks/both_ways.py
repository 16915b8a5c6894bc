"""One thing with a tensor forwards, another one with its gradient backwards."""

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.autograd import Function

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm

Way = Callable[[Tensor], Tensor]


class _Both(Function):
    @staticmethod
    def forward(ctx: Any, forwards: Way, backwards: Way, x: Tensor, *kept: Tensor) -> Tensor:
        ctx.backwards = backwards
        ctx.save_for_backward(*kept)
        return forwards(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        kept = ctx.saved_tensors  # torch's error if one was changed in place
        return None, None, ctx.backwards(gradient), *[None] * len(kept)


def both(forwards: Way, backwards: Way, x: Tensor, *kept: Tensor) -> Tensor:
    """Do one thing with `x` forwards, another with its gradient backwards; `kept` is read then."""
    result: Tensor = _Both.apply(forwards, backwards, x, *kept)  # type: ignore[no-untyped-call]
    return result


def all_reduce(comm: Comm, x: Tensor) -> Tensor:
    """The sum of all ranks' `x`, in a tensor of its own."""
    total = x.detach().contiguous().clone()
    ring.allreduce(comm, total)
    return total


def sum_gradients(comm: Comm, parameters: Iterable[nn.Parameter | None]) -> None:
    """From now on each backward pass sums the gradients of these parameters over the ranks: for
    those that all ranks hold and that see a part of the work on each."""
    for parameter in parameters:
        if parameter is not None and parameter.requires_grad:
            parameter.register_hook(lambda gradient: all_reduce(comm, gradient))
