"""A stopwatch for things that all ranks do together, side by side.

It runs wherever there is a communicator: on engines it measures, on simulated ranks it computes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_teach import Comm


def stopwatch(
    comm: Comm, sizes: Sequence[int], ways: Sequence[Callable[[Comm, Any], Any]], turns: int = 11
) -> np.ndarray:
    """Seconds that each of the `ways` took, on a fresh vector of each size: turn, way, size.

    All ways take each turn, so that a disturbance of the machine hits all alike. All ranks begin
    together, after a barrier; a time that counts is that of the rank that was done last.
    """
    times = np.zeros((turns, len(ways), len(sizes)))
    for turn, place, way in np.ndindex(turns, len(sizes), len(ways)):
        x = np.ones(sizes[place] // 8)
        comm.barrier()
        begun = comm.now()
        ways[way](comm, x)
        times[turn, way, place] = comm.now() - begun
    return times
