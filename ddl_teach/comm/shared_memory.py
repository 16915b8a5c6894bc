"""Memory that all ranks of a node see: MPI's shared windows.

Between processes of one node a message need not be copied from one memory to another. Each rank
owns one part of a common memory, reads those of the others directly, and announces its progress
by counting up a number that all can see. `fence` is a barrier made of these counters: whoever
leaves it sees everything that anybody wrote before entering it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ddl_teach.comm.story import Wait

if TYPE_CHECKING:
    from ddl_teach.comm.mpi_comm import MPIComm

STRIDE = 8  # counters of 8 bytes, one per cache line of 64: ranks do not jostle for a line


class SharedMemory:
    """One part of `nbytes` bytes per rank; `parts[r]` is rank r's, for all to read and write.

    On simulated ranks, which live in one process anyway, the parts are plain arrays and a fence
    costs a barrier's time. After `comm.work` a rank finds there what had been written by then.
    """

    def __init__(self, parts: list[np.ndarray], fence: Callable[[], None]) -> None:
        self.parts = parts
        self.fence = fence

    def arrays(self, dtype: np.dtype, size: int, offset: int = 0) -> list[np.ndarray]:
        """Each rank's part as an array of `size` elements, from byte `offset` on."""
        end = offset + size * dtype.itemsize
        return [part[offset:end].view(dtype) for part in self.parts]


class Fence:
    """A barrier on counters in shared memory."""

    def __init__(self, comm: MPIComm, window: object, counters: np.ndarray) -> None:
        self._comm = comm
        self._window = window
        self._counters = memoryview(counters)
        self._count = 0
        self._spins = range(comm._patience.spins)
        self._others = [rank for rank in range(comm.size) if rank != comm.rank]

    def __call__(self) -> None:
        comm, window, counters = self._comm, self._window, self._counters
        self._count = count = self._count + 1
        window.Sync()  # what was written before is visible before the counter is
        counters[comm.rank * STRIDE] = count
        for rank in self._others:
            place = rank * STRIDE
            for _ in self._spins:
                if counters[place] >= count:
                    break
            else:
                comm._patience.wait(
                    lambda place=place: counters[place] >= count, self._explain, rank
                )
        window.Sync()

    def _explain(self, rank: int) -> Wait:
        return self._comm._explain_call("fence()", (self._comm._members[rank],))
