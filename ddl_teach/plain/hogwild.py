"""HOGWILD: all workers update one vector in shared memory, and none takes a lock.

    w[touched] -= rate * g[touched](w)          whenever a gradient is ready

Cost: no message. Two things can go wrong: others change the weights while a gradient is computed
(staleness), and of two additions to one number at the same moment one is lost. Where gradients
are sparse both are rare.
Recht, Re, Wright and Niu, "HOGWILD!: a lock-free approach to parallelizing stochastic gradient
descent", NIPS 2011. What to look at: the ledger stays empty. All ranks must be on one node.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm

# Of weights, worker, workers and step: the places that it touches, and the gradient there.
SparseGradient = Callable[[np.ndarray, int, int, int], tuple[np.ndarray, np.ndarray]]


def train(
    comm: Comm, weights: np.ndarray, gradient: SparseGradient, steps: int, rate: float
) -> None:
    """Train `weights` in place, `steps` gradients of each rank; all end with the same weights."""
    memory = comm.shared_memory(weights.nbytes)
    shared = memory.arrays(weights.dtype, len(weights))[0]  # the part of rank 0
    if comm.rank == 0:
        shared[:] = weights
    memory.fence()  # from here on all ranks see the initial weights
    for step in range(steps):
        touched, values = gradient(shared, comm.rank, comm.size, step)
        shared[touched] -= rate * values
    memory.fence()  # all ranks have made their last update
    weights[:] = shared
