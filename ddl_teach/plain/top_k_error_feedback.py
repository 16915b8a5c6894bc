"""Top-k with error feedback: only the k largest entries travel, the others are kept for later.

    total = residual + gradient;   send the k largest of total;   residual = what is left

All that was sent and the last residual together are all gradients together: nothing is lost, only
late. Without the residual, small entries would never travel.
Cost: for n entries on P ranks, each rank sends (P-1) k values and places; a dense ring all-reduce
sends 2 (P-1)/P n values. So it saves only where k is far below 2 n/P. Memory: one more vector.
Aji and Heafield, "Sparse communication for distributed gradient descent", EMNLP 2017; Stich,
Cordonnier and Jaggi, "Sparsified SGD with memory", NeurIPS 2018.
What to look at: the k places of one rank are not those of another.
"""

import numpy as np

from ddl_teach import Comm


def average(comm: Comm, gradient: np.ndarray, residual: np.ndarray, k: int) -> None:
    """Replace `gradient` by the mean of what all ranks send; `residual` is this rank's own."""
    residual += gradient
    places = np.argsort(np.abs(residual))[-k:]
    values = residual[places]
    residual[places] = 0

    messages = {comm.rank: (places, values)}
    for distance in range(1, comm.size):
        to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        messages[source] = np.empty_like(places), np.empty_like(values)
        comm.sendrecv(places, to, messages[source][0], source)
        comm.sendrecv(values, to, messages[source][1], source)

    gradient[:] = 0
    for rank in range(comm.size):  # in the same order on all ranks, so that all get the same bits
        places, values = messages[rank]
        gradient[places] += values
    gradient /= comm.size
