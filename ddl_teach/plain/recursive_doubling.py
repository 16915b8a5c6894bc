"""Recursive doubling: in step k a rank swaps its whole vector with the rank 2^k away, and adds.

Cost: log2 P (latency + n per_byte) if P is a power of two: the fewest steps, for short vectors.
For other P, ranks beyond the largest power of two give their vector to a rank below and get the
result back: at most floor(log2 P) + 2 steps.
Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
2005.
What to look at: after step k groups of 2^(k+1) ranks hold the same sum.
"""

import numpy as np

from ddl_teach import Comm


def allreduce(comm: Comm, x: np.ndarray) -> None:
    """Replace `x` on every rank by the sum of all ranks' `x`."""
    core = fold(comm, x)
    arriving = np.empty_like(x)
    distance = 1
    while distance < core and comm.rank < core:
        partner = comm.rank ^ distance
        comm.sendrecv(x, partner, arriving, partner)
        x += arriving  # a + b here and b + a there: the same bits
        distance *= 2
    unfold(comm, x, core)


def fold(comm: Comm, x: np.ndarray) -> int:
    """Return the largest power of two; ranks below it then hold the vectors of all ranks."""
    core: int = 2 ** (comm.size.bit_length() - 1)
    if comm.rank >= core:
        comm.send(x, comm.rank - core)
    elif comm.rank + core < comm.size:
        arriving = np.empty_like(x)
        comm.recv(arriving, comm.rank + core)
        x += arriving
    return core


def unfold(comm: Comm, x: np.ndarray, core: int) -> None:
    """Give the result back to the ranks from `core` on."""
    if comm.rank >= core:
        comm.recv(x, comm.rank - core)
    elif comm.rank + core < comm.size:
        comm.send(x, comm.rank + core)
