"""Binomial tree: in every step each rank that has the vector sends it to one that has not.

Cost: ceil(log2 P) (latency + n per_byte) if P is a power of two, at most that for other P. The
root sends ceil(log2 P) vectors and not P-1. A reduction is the same tree upwards, with additions.
Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
2005.
What to look at: the number of senders doubles in each step.
"""

import numpy as np

from ddl_teach import Comm


def broadcast(comm: Comm, x: np.ndarray, root: int = 0) -> None:
    """Copy the root's `x` to every rank's `x`."""
    place = (comm.rank - root) % comm.size  # distance from the root
    distance = 1
    while distance < comm.size:
        if place < distance and place + distance < comm.size:
            comm.send(x, (comm.rank + distance) % comm.size)
        elif distance <= place < 2 * distance:
            comm.recv(x, (comm.rank - distance) % comm.size)
        distance *= 2


def reduce(comm: Comm, x: np.ndarray, root: int = 0) -> None:
    """Sum all ranks' `x` in the root's `x`; on other ranks `x` then holds partial sums."""
    place = (comm.rank - root) % comm.size
    arriving = np.empty_like(x)
    distance = 1
    while 2 * distance < comm.size:
        distance *= 2
    while distance >= 1:  # the steps of the broadcast, the last one first
        if place < distance and place + distance < comm.size:
            comm.recv(arriving, (comm.rank + distance) % comm.size)
            x += arriving
        elif distance <= place < 2 * distance:
            comm.send(x, (comm.rank - distance) % comm.size)
        distance //= 2
