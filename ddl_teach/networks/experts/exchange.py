"""An all-to-all of rows where every pair of ranks has another number of them.

In step k a rank sends to the rank k above and receives from the rank k below, as in
`collectives.pairwise`; both know how many rows that are, since counts travelled before them, and
where there are none there is no message. Backwards the gradients of rows go back where the rows
came from: the same exchange with the two numbers swapped, so it is its own conjugate.

Cost: up to (P-1) messages, and every row that leaves a rank once.
What to look at: nothing is padded. A rank to which all send is a rank for which all wait.
"""

from collections.abc import Sequence

from torch import Tensor

from ddl_teach.collectives.ring import allgather
from ddl_teach.comm import Comm
from ddl_teach.networks.both_ways import both


def exchange(comm: Comm, x: Tensor, leaving: Sequence[int], coming: Sequence[int]) -> Tensor:
    """Send the first `leaving[0]` rows of `x` to rank 0, and so on; differentiable.

    Returns the `coming[0]` rows from rank 0, then those from rank 1, and so on.
    """
    return both(
        lambda x: exchange_rows(comm, x, leaving, coming),
        lambda gradient: exchange_rows(comm, gradient, coming, leaving),
        x,
    )


def exchange_rows(comm: Comm, x: Tensor, leaving: Sequence[int], coming: Sequence[int]) -> Tensor:
    """The same without gradients."""
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
    everybodys = own.new_zeros((comm.size, *own.shape[1:]))
    everybodys[comm.rank] = own[0]
    allgather(comm, everybodys)
    return everybodys
