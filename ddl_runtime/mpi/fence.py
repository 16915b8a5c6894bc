"""A barrier on counters in memory that all ranks of a node share."""

from __future__ import annotations

from functools import partial
from typing import Any

from ddl_runtime.diagnosis.waits import Wait
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.diagnosis import Diagnosis

STRIDE = 8  # counters of 8 bytes, one per cache line of 64: ranks do not jostle for a line


class Fence:
    """Each rank counts up its own number, and waits until those of all others are as high."""

    def __init__(self, diagnosis: Diagnosis, window: Any, counters: Any) -> None:
        self._diagnosis = diagnosis
        self._context: MPIContext = diagnosis.context
        self._window = window
        self._counters = memoryview(counters)
        self._count = 0
        self._spins = range(self._context.patience.spins)
        self._others = [r for r in range(self._context.size) if r != self._context.rank]

    def __call__(self) -> None:
        context, window, counters = self._context, self._window, self._counters
        self._count = count = self._count + 1
        window.Sync()  # what was written before is visible before the counter is
        counters[context.rank * STRIDE] = count
        for rank in self._others:
            place = rank * STRIDE
            for _ in self._spins:
                if counters[place] >= count:
                    break
            else:
                arrived = partial(self._arrived, place)
                context.patience.wait(arrived, self._explain, rank)
        window.Sync()

    def _arrived(self, place: int) -> bool:
        count: int = self._counters[place]
        return count >= self._count

    def _explain(self, rank: int) -> Wait:
        return self._diagnosis.explain_call("fence()", (self._context.members[rank],))
