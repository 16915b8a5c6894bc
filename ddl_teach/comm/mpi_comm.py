"""The communicator of a real rank: its clock and its groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

from ddl_teach.comm import arrays
from ddl_teach.comm.arrays import Array, Operation
from ddl_teach.comm.interface import Comm, Request, check_work, whole_number
from ddl_teach.comm.mpi import MPI
from ddl_teach.comm.mpi_messages import MPIMessages
from ddl_teach.comm.mpi_requests import BackgroundRequest
from ddl_teach.comm.mpi_window import MPIWindow
from ddl_teach.comm.native import Native
from ddl_teach.comm.shared_memory import STRIDE, Fence, SharedMemory
from ddl_teach.comm.window import check_dtype, check_size

PAGE = 4096


class MPIComm(MPIMessages):
    """A communicator of MPI processes."""

    # -- time -------------------------------------------------------------------------------

    def now(self) -> float:
        return time.perf_counter() - self._records.began

    @contextmanager
    def span(self, name: str, kind: str = "span"):
        begun = self.now()
        try:
            yield
        finally:
            if self._records.spans is not None:
                self._records.spans.append((name, kind, begun, self.now(), -1, -1, 0))

    def work(self, seconds: float = 0.0, flops: float = 0.0) -> None:
        check_work(seconds, flops)
        with self.span("work", kind="work"):
            time.sleep(seconds)
            _multiply_and_add(flops)

    def combine(self, a: Array, b: Array, out: Array, op: Operation = "sum") -> None:
        if self._spans is None:
            arrays.combine(op, a, b, out)
        else:
            begun = self.now()
            arrays.combine(op, a, b, out)
            self._spans.append(("reduce", "reduce", begun, self.now(), -1, -1, out.nbytes))

    # -- groups -----------------------------------------------------------------------------

    @property
    def native(self) -> Native:
        """MPI's own collectives, for comparison; their inner messages are not in the ledger."""
        return Native(self, MPI)

    def _meeting(self, label: str) -> MPIComm:
        return type(self)(
            self.mpi, self._members, self._nodes, self._records, self._monitor, label
        )

    def _duplicate(self) -> MPIComm:
        return type(self)(self.mpi.Dup(), self._members, self._nodes, self._records, self._monitor)

    def _announce(self, colour: int | None, key: int) -> None:
        """Nothing to say beforehand: MPI asks when everybody has come."""

    def _form_group(self, colour: int | None, key: int) -> Comm | None:
        # MPI's split cannot be interrupted, but all ranks have just met: nobody keeps it waiting.
        mpi = self.mpi.Split(MPI.UNDEFINED if colour is None else colour, key)
        if mpi == MPI.COMM_NULL:
            return None
        ranks = MPI.Group.Translate_ranks(mpi.group, range(mpi.size), self.mpi.group)
        members = [self._members[rank] for rank in ranks]
        return type(self)(mpi, members, self._nodes, self._records, self._monitor)

    def _start(self, place: MPIComm, function: Callable[..., Any], args: tuple) -> Request:
        return BackgroundRequest(self, function, (place, *args))

    def shared_memory(self, nbytes: int) -> SharedMemory:
        self._meet("shared_memory")  # from here on nobody keeps MPI's own calls waiting
        if len({self._nodes[member] for member in self._members}) > 1:
            raise ValueError(
                "shared_memory: these ranks are on several nodes, which share no memory; "
                "make a communicator for each node first: comm.split(comm.node)"
            )
        # Page by page, so that no two parts share a cache line; the counters come last.
        part = -(-nbytes // PAGE) * PAGE
        own = part + (self.size * STRIDE * 8 if self.rank == 0 else 0)
        window = MPI.Win.Allocate_shared(own, comm=self.mpi)
        window.Lock_all(MPI.MODE_NOCHECK)
        self._records.windows.append(window)
        memory = [
            np.frombuffer(window.Shared_query(rank)[0], np.uint8) for rank in range(self.size)
        ]
        counters = memory[0][part:].view(np.int64)
        if self.rank == 0:
            counters[:] = 0
        self.mpi.Barrier()
        return SharedMemory([each[:nbytes] for each in memory], Fence(self, window, counters))

    def window(self, size: int, dtype: Any = np.float64) -> MPIWindow:
        dtype, size = check_dtype(dtype), check_size(whole_number(size, "window: a size"))
        self._meet("window")  # from here on nobody keeps MPI's own calls waiting
        return MPIWindow(self, size, dtype)


def _multiply_and_add(flops: float) -> None:
    """Execute that many floating-point operations, in products of small matrices."""
    width = 128
    matrix = np.ones((width, width))
    each = 2 * width**3
    for _ in range(int(flops // each)):
        matrix @ matrix
    rows = int(flops % each / (2 * width**2))
    matrix[:rows] @ matrix
