"""One-shot: every rank sends its whole vector to all, and each adds up for itself.

Cost: latency + (P-1) n per_byte. No algorithm has fewer steps; for long vectors each has fewer
bytes. Engines that serve models take it for the few kilobytes of one token: see `direct`.
What to look at: one arrow from each rank to each other, and then P-1 additions on each.
"""

from ddl_runtime.core.arrays import Array, Operation, copy_into, empty_like
from ddl_teach.collectives.direct import exchange
from ddl_teach.comm import Comm, collective


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place."""
    vectors = [empty_like(x) for _ in range(comm.size)]
    exchange(comm, [x] * comm.size, vectors)
    copy_into(vectors[comm.rank], x)
    copy_into(x, vectors[0])
    for vector in vectors[1:]:  # in one order, so that all ranks get the same bits
        comm.combine(x, vector, out=x, op=op)
