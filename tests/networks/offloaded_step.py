"""One step of momentum on a plain vector whose moments are on the host: the idea and nothing else.

Rank 1 is the host and has the moments, rank 0 the device. Singh & Bhatele, "AxoNN", 2022.
"""

from __future__ import annotations

import numpy as np

from ddl_teach.comm import Comm

MOMENTUM = 0.9
OPERATIONS = 4  # a parameter: two to update the moment, two the weight


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
