"""Where a tensor enters split work and where it leaves it.

Each operator does one thing forwards and another one backwards; the two of a pair swap them:

    operator      forward          backward         between
    copy_in       copy             all-reduce       the same x everywhere -> split work
    sum_out       all-reduce       copy             parts of a sum -> the same sum everywhere
    gather_in     all-gather       reduce-scatter   a part each -> all of it, for split work
    scatter_out   reduce-scatter   all-gather       parts of a sum -> a part of the sum each

    gather_out    all-gather       own part         a part each -> the same everywhere

For n bytes on P ranks an all-reduce sends 2 (P-1)/P n bytes a rank, each of the others (P-1)/P n;
so a scatter_out and a gather_in cost together what one sum_out does. Why backward is what it is:
if a value was used on all ranks, its gradient is the sum of what they say; if it is the sum of
their parts, each part has the gradient of the sum. Shoeybi et al., "Megatron-LM: training
multi-billion parameter language models using model parallelism", 2019 (its f and g); Korthikanti
et al., "Reducing activation recomputation in large transformer models", 2022 (with g-bar).
What to look at: a sum on the way in only ever happens backwards, one on the way out forwards.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function

from ddl_teach.comm import Comm
from ddl_teach.networks.axis_collectives import all_gather, reduce_scatter
from ddl_teach.networks.replicated import all_reduce
from ddl_teach.networks.shares import own_slice


def copy_in(comm: Comm, x: Tensor) -> Tensor:
    """Copy forwards; backwards sum the gradients of all ranks."""
    return _CopyIn.apply(comm, x)


def sum_out(comm: Comm, x: Tensor) -> Tensor:
    """Sum the `x` of all ranks forwards; backwards copy the gradient."""
    return _SumOut.apply(comm, x)


def gather_in(comm: Comm, x: Tensor, axis: int, total: int) -> Tensor:
    """All parts forwards, `total` along `axis`; backwards this part of the gradients' sum."""
    return _GatherIn.apply(comm, x, axis, total)


def scatter_out(comm: Comm, x: Tensor, axis: int) -> Tensor:
    """This rank's part of the sum of all `x` forwards; backwards the gradients of all parts."""
    return _ScatterOut.apply(comm, x, axis)


def gather_out(comm: Comm, x: Tensor, axis: int, total: int) -> Tensor:
    """All parts forwards, `total` along `axis`; backwards this rank's part of the gradient."""
    return _GatherOut.apply(comm, x, axis, total)


class _CopyIn(Function):
    @staticmethod
    def forward(ctx: Any, comm: Comm, x: Tensor) -> Tensor:
        ctx.comm = comm
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        return None, all_reduce(ctx.comm, gradient)


class _SumOut(Function):
    @staticmethod
    def forward(ctx: Any, comm: Comm, x: Tensor) -> Tensor:
        return all_reduce(comm, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        return None, gradient


class _GatherIn(Function):
    @staticmethod
    def forward(ctx: Any, comm: Comm, x: Tensor, axis: int, total: int) -> Tensor:
        ctx.comm, ctx.axis = comm, axis
        return all_gather(comm, x, axis, total)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        return None, reduce_scatter(ctx.comm, gradient, ctx.axis), None, None


class _ScatterOut(Function):
    @staticmethod
    def forward(ctx: Any, comm: Comm, x: Tensor, axis: int) -> Tensor:
        ctx.comm, ctx.axis, ctx.total = comm, axis, x.shape[axis]
        return reduce_scatter(comm, x, axis)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        return None, all_gather(ctx.comm, gradient, ctx.axis, ctx.total), None


class _GatherOut(Function):
    @staticmethod
    def forward(ctx: Any, comm: Comm, x: Tensor, axis: int, total: int) -> Tensor:
        ctx.comm, ctx.axis = comm, axis
        return all_gather(comm, x, axis, total)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        mine = own_slice(gradient.shape[ctx.axis], ctx.comm)
        return None, gradient.narrow(ctx.axis, mine.start, mine.stop - mine.start), None, None
