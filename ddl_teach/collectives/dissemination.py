"""Dissemination barrier: a rumour that travels 1, 2, 4, ... ranks far.

Cost: ceil(log2 P) latency, for every P. After step k a rank has received, directly or not, from
the 2^(k+1) - 1 ranks below it; after the last step from all.
Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988.
What to look at: let one rank be late; no barrier ends before that rank's begins.
"""

import numpy as np

from ddl_teach.comm import Comm, collective


@collective
def barrier(comm: Comm) -> None:
    """Return when all ranks have called it."""
    rumour, heard = np.empty(0, np.uint8), np.empty(0, np.uint8)
    distance = 1
    while distance < comm.size:
        above, below = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(rumour, above, heard, below)
        distance *= 2
