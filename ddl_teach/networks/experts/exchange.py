"""An all-to-all of rows where every pair of ranks has another number of them.

In step k a rank sends to the rank k above and receives from the rank k below, as in
`collectives.pairwise`; counts have travelled before, and no rows are no message. Backwards the
gradients go back where the rows came from: the same exchange with the two numbers swapped. Cost:
up to (P-1) messages, and every row that leaves a rank once. Nothing is padded.
"""

from collections.abc import Sequence

from torch import Tensor

from ddl_teach.collectives.ring import allgather
from ddl_teach.comm import Comm
from ddl_teach.networks.both_ways import both


def exchange(comm: Comm, x: Tensor, leaving: Sequence[int], coming: Sequence[int]) -> Tensor:
    """Send the first `leaving[0]` rows of `x` to rank 0, and so on; returns the `coming[0]` rows
    from rank 0, then those from rank 1, and so on. Differentiable."""
    return both(
        lambda x: _exchange(comm, x, leaving, coming),
        lambda gradient: _exchange(comm, gradient, coming, leaving),
        x,
    )


def _exchange(comm: Comm, x: Tensor, leaving: Sequence[int], coming: Sequence[int]) -> Tensor:
    outgoing = x.detach().contiguous().split(list(leaving))
    result = x.new_empty((sum(coming), *x.shape[1:]))
    incoming = result.split(list(coming))
    incoming[comm.rank].copy_(outgoing[comm.rank])
    for step in range(1, comm.size):
        above, below = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        requests = []
        if coming[below]:
            requests.append(comm.irecv(incoming[below], below))
        if leaving[above]:
            requests.append(comm.isend(outgoing[above], above))
        for request in requests:
            request.wait()
    return result


def gather_counts(comm: Comm, own: Tensor) -> Tensor:
    """The counts of all ranks, (ranks, ...), where each gives its (1, ...)."""
    everybodys = own.repeat(comm.size, *[1] * (own.dim() - 1))
    allgather(comm, everybodys)
    return everybodys
