"""Rabenseifner's all-reduce: swap halves, quarters, ... and add; then swap them back.

Cost: 2 log2 P latency + 2 (P-1)/P n per_byte if P is a power of two: the bytes of the ring in the
steps of a tree, for long vectors on many ranks. Other P fold as recursive doubling does, for
2 (latency + n per_byte) more.
Rabenseifner, "Optimization of collective reduction operations", 2004.
What to look at: after log2 P steps each rank holds one chunk of the sum; then every swap is
repeated in the opposite order, with complete sums.
"""

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.recursive_doubling import fold, unfold


def allreduce(comm: Comm, x: np.ndarray) -> None:
    """Replace `x` on every rank by the sum of all ranks' `x`."""
    core = fold(comm, x)
    own, swaps = x, []
    distance = core // 2
    while distance >= 1 and comm.rank < core:
        partner = comm.rank ^ distance
        lower, upper = np.array_split(own, 2)  # views of x, the same two on both partners
        own, given = (lower, upper) if comm.rank < partner else (upper, lower)
        arriving = np.empty_like(own)
        comm.sendrecv(given, partner, arriving, partner)
        own += arriving
        swaps.append((partner, own, given))
        distance //= 2
    for partner, complete, missing in reversed(swaps):
        comm.sendrecv(complete, partner, missing, partner)
    unfold(comm, x, core)
