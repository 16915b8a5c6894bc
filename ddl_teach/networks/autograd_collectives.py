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

from collections.abc import Sequence

from torch import Tensor

from ddl_teach.comm import Comm
from ddl_teach.networks.axis_collectives import all_gather, reduce_scatter
from ddl_teach.networks.both_ways import all_reduce, both
from ddl_teach.networks.shares import own_slice


def copy_in(comm: Comm, x: Tensor) -> Tensor:
    """Copy forwards; backwards sum the gradients of all ranks."""
    return both(lambda x: x.view_as(x), lambda gradient: all_reduce(comm, gradient), x)


def sum_out(comm: Comm, x: Tensor) -> Tensor:
    """Sum the `x` of all ranks forwards; backwards copy the gradient."""
    return both(lambda x: all_reduce(comm, x), lambda gradient: gradient, x)


def gather_in(
    comm: Comm, x: Tensor, axis: int, total: int, lengths: Sequence[int] | None = None
) -> Tensor:
    """All parts forwards, `total` along `axis`; backwards this part of the gradients' sum."""
    return both(
        lambda x: all_gather(comm, x, axis, total, lengths),
        lambda of_x: reduce_scatter(comm, of_x, axis, lengths),
        x,
    )


def scatter_out(comm: Comm, x: Tensor, axis: int) -> Tensor:
    """This rank's part of the sum of all `x` forwards; backwards the gradients of all parts."""
    total = x.shape[axis]
    return both(
        lambda x: reduce_scatter(comm, x, axis),
        lambda of_x: all_gather(comm, of_x, axis, total),
        x,
    )


def gather_out(comm: Comm, x: Tensor, axis: int, total: int) -> Tensor:
    """All parts forwards, `total` along `axis`; backwards this rank's part of the gradient."""
    mine = own_slice(total, comm)

    def own_part(gradient: Tensor) -> Tensor:
        return gradient.narrow(axis, mine.start, mine.stop - mine.start)

    return both(lambda x: all_gather(comm, x, axis, total), own_part, x)
