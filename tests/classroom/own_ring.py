"""A right answer to 06.ring, as a learner would write it."""

import numpy as np

from ddl_runtime.core.arrays import split_evenly


def own_ring(comm, x):
    """Sum `x` over all ranks, in place."""
    rank, size = comm.rank, comm.size
    chunks = split_evenly(x, size)
    for step in range(1, 2 * size - 1):
        into = chunks[(rank - step - 1) % size]
        arriving = np.empty_like(into)
        comm.sendrecv(chunks[(rank - step) % size], (rank + 1) % size, arriving, (rank - 1) % size)
        into[...] = into + arriving if step < size else arriving
