"""One step of momentum on a plain vector, sharded and offloaded: the ideas and nothing else.

    sharded     reduce-scatter the gradients, update the own part, all-gather the weights
    offloaded   rank 1 is the host and has the moments, rank 0 the device; buckets come and go

Rajbhandari et al., "ZeRO", 2020; Singh & Bhatele, "AxoNN", 2022; times in `theory.memory`.
What to look at: on the timeline a bucket comes while the one before it goes.
"""

from __future__ import annotations

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.comm.arrays import split_evenly

MOMENTUM = 0.9
OPERATIONS = 4  # a parameter: two to update the moment, two the weight


def sharded(
    comm: Comm, weights: np.ndarray, gradient: np.ndarray, moment: np.ndarray, rate: float
) -> None:
    """Update `weights`, alike on all ranks, and `moment`, this rank's part, both in place."""
    mean = ring.reduce_scatter(comm, gradient) / comm.size
    moment *= MOMENTUM
    moment += mean
    own = split_evenly(weights, comm.size)[comm.rank]
    own -= rate * moment
    ring.allgather(comm, weights)


def offloaded(
    comm: Comm,
    weights: np.ndarray | None,
    gradient: np.ndarray | None,
    moment: np.ndarray | None,
    bucket: int,
    rate: float,
) -> None:
    """Update rank 0's `weights` and rank 1's `moment`, in place; no message exceeds a bucket."""
    if comm.rank == 1:
        parts = [moment[start:][:bucket] for start in range(0, len(moment), bucket)]
        for number, part in enumerate(parts):
            comm.send(part, 0)
            if number:  # the next one is on its way before this one is back
                comm.recv(parts[number - 1], 0)
        comm.recv(parts[-1], 0)
    if comm.rank == 0:
        places = [np.empty(bucket), np.empty(bucket)]
        coming = comm.irecv(places[0][: len(weights)], 1)
        for start in range(0, len(weights), bucket):
            coming.wait()
            here, there = places
            part = slice(start, start + bucket)
            left = weights[part.stop :]
            if len(left):
                coming = comm.irecv(there[: len(left)], 1)
            state = here[: len(weights[part])]
            state *= MOMENTUM
            state += gradient[part]
            weights[part] -= rate * state
            comm.work(flops=OPERATIONS * len(state))
            comm.send(state, 1)
            places = [there, here]
