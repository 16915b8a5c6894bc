"""Ring all-reduce: each rank sends chunks to its right neighbour, first to add, then to copy.

Cost: 2 (P-1) (latency + n/P per_byte) for n bytes on P ranks. Each rank sends 2 (P-1)/P n bytes.
No algorithm can send fewer, but others need fewer steps.
Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
What to look at: in every step all ranks send and receive at the same time.
"""

import numpy as np

from ddl_teach import Comm


def allreduce(comm: Comm, x: np.ndarray) -> None:
    """Replace `x` on every rank by the sum of all ranks' `x`."""
    reduce_scatter(comm, x)
    allgather(comm, x)


def reduce_scatter(comm: Comm, x: np.ndarray) -> np.ndarray:
    """Return chunk r of the sum on rank r. The other chunks of `x` hold partial sums."""
    rank, size = comm.rank, comm.size
    left, right = (rank - 1) % size, (rank + 1) % size
    chunks = np.array_split(x, size)  # views: what is added to a chunk is added to x
    for step in range(1, size):
        # Chunk r starts on rank r + 1, visits all ranks, and is complete on rank r.
        outgoing, incoming = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        arriving = np.empty_like(incoming)
        comm.sendrecv(outgoing, right, arriving, left)
        incoming += arriving
    return chunks[rank]


def allgather(comm: Comm, x: np.ndarray) -> None:
    """Fill in the other ranks' chunks of `x`; rank r begins with chunk r."""
    rank, size = comm.rank, comm.size
    left, right = (rank - 1) % size, (rank + 1) % size
    chunks = np.array_split(x, size)
    for step in range(size - 1):
        # A rank passes on what it received in the step before.
        outgoing, incoming = chunks[(rank - step) % size], chunks[(rank - step - 1) % size]
        comm.sendrecv(outgoing, right, incoming, left)
