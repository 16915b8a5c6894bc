"""Ring all-reduce: chunks travel round, P-1 steps to add them up, P-1 steps to hand them out.

Cost: 2 (P-1) (latency + n/P per_byte) for n bytes on P ranks. Each rank sends 2 (P-1)/P n bytes,
and no algorithm sends fewer, unless switches add. But no other algorithm pays more latencies.
Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
What to look at: every rank sends and receives all the time, and only ever to its neighbour.
"""

from collections.abc import Sequence

from ddl_runtime.core.arrays import Array, Operation, empty_like, split_evenly
from ddl_teach.comm import Comm, collective


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place."""
    reduce_scatter(comm, x, op)
    allgather(comm, x)


@collective
def reduce_scatter(comm: Comm, x: Array, op: Operation = "sum") -> Array:
    """Return this rank's chunk of the combination of all `x`; the rest of `x` is scratch."""
    rank, size = comm.rank, comm.size
    left, right = (rank - 1) % size, (rank + 1) % size
    chunks = split_evenly(x, size)
    arriving = split_evenly(empty_like(x), size)
    for step in range(1, size):
        # Chunk r begins its journey on rank r+1 and ends it, complete, on rank r.
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(chunks[outgoing], right, arriving[incoming], left)
        comm.combine(arriving[incoming], chunks[incoming], out=chunks[incoming], op=op)
    return chunks[rank]


@collective
def allgather(comm: Comm, x: Array) -> None:
    """Every rank contributes its own chunk of `x` and gets those of all others."""
    pass_round(comm, split_evenly(x, comm.size))


def pass_round(comm: Comm, chunks: Sequence[Array]) -> None:
    """Every rank has filled chunk `rank`, and gets the others, which may differ in length."""
    rank, size = comm.rank, comm.size
    left, right = (rank - 1) % size, (rank + 1) % size
    for step in range(size - 1):
        # What came from the left in the step before goes on to the right.
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(chunks[outgoing], right, chunks[incoming], left)
