"""A linear recurrence over ranks: the sequence is cut into as many parts, in the order of ranks.

Every rank scans its own steps; the pairs that stand for whole parts are scanned by doubling, in
ceil(log2 P) messages; one more brings each rank the state before its first step. With T / P steps:

    T/P steps + (ceil(log2 P) + 1) messages,        where a nonlinear recurrence takes T steps

What to look at: it is `dissemination` with a product instead of a sum, and the order counts.
"""

from ddl_teach.comm import Comm
from ddl_teach.operators.arrays import Array, library
from ddl_teach.operators.recurrence.scan import doubling_pairs


def scan(comm: Comm, a: Array, b: Array) -> Array:
    """The states of this rank's own steps, a and b of shape (own steps, ...)."""
    decay, states = doubling_pairs(a, b)
    stack = library(b).stack
    pair, distance = stack([decay[-1], states[-1]]), 1
    while distance < comm.size:
        other = _shift(comm, pair, distance)
        if comm.rank >= distance:
            pair = stack([pair[0] * other[0], pair[0] * other[1] + pair[1]])
        distance *= 2
    before = _shift(comm, pair, 1)[1]
    return states + decay * before


def _shift(comm: Comm, pair: Array, distance: int) -> Array:
    """The pair of the rank so far below; zeros where there is none."""
    arriving, sent = library(pair).zeros_like(pair), None
    if comm.rank + distance < comm.size:
        sent = comm.isend(pair, comm.rank + distance)
    if comm.rank >= distance:
        comm.recv(arriving, comm.rank - distance)
    if sent is not None:
        sent.wait()
    return arriving
