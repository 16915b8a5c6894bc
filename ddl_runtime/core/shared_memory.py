"""Memory that all ranks of a node see: MPI's shared windows.

Between processes of one node a message need not be copied from one memory to another. Each rank
owns one part of a common memory, reads those of the others directly, and announces its progress
by counting up a number that all can see. `fence` is a barrier made of these counters: whoever
leaves it sees everything that anybody wrote before entering it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def check_one_node(nodes: Iterable[int]) -> None:
    """Refuse ranks that are on several nodes."""
    if len(set(nodes)) > 1:
        raise ValueError(
            "shared_memory: these ranks are on several nodes, which share no memory; make a "
            "communicator for each node first: comm.split(comm.node)"
        )


class SharedMemory:
    """One part of `nbytes` bytes per rank; `parts[r]` is rank r's, for all to read and write.

    On simulated ranks, which live in one process anyway, the parts are plain arrays and a fence
    costs a barrier's time. After `comm.work` a rank finds there what had been written by then.
    """

    def __init__(self, parts: list[np.ndarray], fence: Callable[[], None]) -> None:
        self.parts = parts
        self.fence = fence

    def arrays(self, dtype: np.dtype[Any], size: int, offset: int = 0) -> list[np.ndarray]:
        """Each rank's part as an array of `size` elements, from byte `offset` on."""
        end = offset + size * dtype.itemsize
        return [part[offset:end].view(dtype) for part in self.parts]
