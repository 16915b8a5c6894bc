"""Lost updates: how much of what is written to common memory without a lock is gone again.

    shared[...] += 1            reads, adds and writes back, number by number: rarely in the way
    shared[...] = copy + 1      wipes out all that others have written since the copy was made

What to look at: the first loses next to nothing, although no worker takes a lock. The second loses
all that came between, up to (P - 1) / P of everything: the reason why HOGWILD adds.
"""

import numpy as np

from ddl_teach.comm import Comm


def lost_share(
    comm: Comm, write_back: bool, steps: int = 150, size: int = 1000, pause: float = 5e-4
) -> float:
    """The share of all ranks' ones that is missing in the end; all on one node. Each rank looks at
    the numbers, computes for `pause` seconds, and adds one to all of them."""
    memory = comm.shared_memory(8 * size)
    shared = memory.arrays(np.dtype(np.float64), size)[0]
    if comm.rank == 0:
        shared[...] = 0
    memory.fence()
    for _ in range(steps):
        read = shared.copy()
        comm.work(seconds=pause)
        if write_back:
            shared[...] = read + 1
        else:
            shared += 1
    memory.fence()
    return float(1 - shared.mean() / (steps * comm.size))
