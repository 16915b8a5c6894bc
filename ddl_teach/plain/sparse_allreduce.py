"""Sparse all-reduce: recursive doubling in which only entries that are not zero travel.

Cost: log2 P steps, each with 8 bytes for the number of entries and 12 for each index and value.
With k entries, a rank sends k log2 P if all ranks have the same indices, k (P-1) if no two share
one. SparCML sends the whole vector of N once a sum has 2/3 N entries: that is shorter.
Renggli et al., "SparCML: high-performance sparse communication for machine learning", SC 2019.
What to look at: the messages of the last step, beside those of the first.
"""

import numpy as np

from ddl_teach import Comm


def allreduce(comm: Comm, x: np.ndarray) -> None:
    """Replace `x` (float64) on every rank by the sum of all ranks' `x`."""
    core: int = 2 ** (comm.size.bit_length() - 1)
    if comm.rank >= core:  # gives its entries to a rank below
        send_entries(comm, x, comm.rank - core)
        x[:] = 0
        add_entries(comm, x, comm.rank - core)
        return
    if comm.rank + core < comm.size:
        add_entries(comm, x, comm.rank + core)
    distance = 1
    while distance < core:
        swap_entries(comm, x, comm.rank ^ distance)
        distance *= 2
    if comm.rank + core < comm.size:
        send_entries(comm, x, comm.rank + core)


def entries(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how many entries there are, their indices, and their values."""
    indices = np.flatnonzero(x).astype(np.uint32)
    return np.array([len(indices)]), indices, x[indices]


def send_entries(comm: Comm, x: np.ndarray, to: int) -> None:
    """Send the entries of `x`; the count goes first, because only the sender knows it."""
    for array in entries(x):
        comm.send(array, to)


def add_entries(comm: Comm, x: np.ndarray, source: int) -> None:
    """Receive entries and add them to `x`."""
    count = np.empty(1, int)
    comm.recv(count, source)
    indices, values = np.empty(count[0], np.uint32), np.empty(count[0])
    for array in (indices, values):
        comm.recv(array, source)
    x[indices] += values


def swap_entries(comm: Comm, x: np.ndarray, partner: int) -> None:
    """Add the partner's entries to `x` while `x` is sent to it; both then have the same sum."""
    sending = [comm.isend(array, partner) for array in entries(x)]
    add_entries(comm, x, partner)
    for request in sending:
        request.wait()
