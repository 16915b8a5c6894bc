"""Windows of real ranks: MPI's own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ddl_teach.comm.mpi import MPI
from ddl_teach.comm.window import Window

if TYPE_CHECKING:
    from ddl_teach.comm.mpi_comm import MPIComm


class MPIWindow(Window):
    """A window that is open from its making to the end of the program."""

    def __init__(self, comm: MPIComm, size: int, dtype: np.dtype) -> None:
        self.sizes = comm.mpi.allgather(size)
        self._comm = comm
        self._window = MPI.Win.Allocate(size * dtype.itemsize, dtype.itemsize, comm=comm.mpi)
        self._window.Lock_all(MPI.MODE_NOCHECK)
        comm._records.windows.append(self._window)
        self.own = np.frombuffer(self._window.tomemory(), dtype, size)
        self.own[...] = 0
        comm.mpi.Barrier()

    def get(self, out: np.ndarray, source: int, start: int = 0) -> None:
        self._check(out, source, start, "get")
        begun = time.perf_counter()
        self._finish(self._window.Rget(out, source, start), "get", source)
        # The owner's memory sent these bytes: its ledger gets them when the program is over.
        self._comm._records.fetched.append((self._comm._members[source], out.nbytes))
        self._note("get", "recv", begun, source, out.nbytes)

    def put(self, x: np.ndarray, to: int, start: int = 0) -> None:
        self._write("put", x, to, start)

    def add(self, x: np.ndarray, to: int, start: int = 0) -> None:
        self._write("add", x, to, start)

    def _write(self, verb: str, x: np.ndarray, to: int, start: int) -> None:
        self._check(x, to, start, verb)
        begun = time.perf_counter()
        if verb == "put":
            handle = self._window.Rput(x, to, start)
        else:
            handle = self._window.Raccumulate(x, to, start, MPI.SUM)
        self._finish(handle, verb, to)
        self._window.Flush(to)  # done there as well, not only on its way
        self._comm._records.ledger.append((self._comm._members[to], 0, x.nbytes, verb))
        self._note(verb, "send", begun, to, x.nbytes)

    def fetch_and_add(self, amount: float, to: int, place: int = 0) -> float:
        x = np.array([amount], self.own.dtype)
        self._check(x, to, place, "fetch_and_add")
        before = np.empty_like(x)
        self._window.Fetch_and_op(x, before, to, place, MPI.SUM)
        self._window.Flush(to)
        records = self._comm._records
        records.ledger.append((self._comm._members[to], 0, x.nbytes, "add"))
        records.fetched.append((self._comm._members[to], x.nbytes))
        return before[0].item()

    def _finish(self, handle: Any, verb: str, peer: int) -> None:
        comm = self._comm
        # The handle holds the array.
        comm._finish_call(handle, f"window.{verb}()", (comm._members[peer],))

    def _note(self, verb: str, kind: str, begun: float, peer: int, nbytes: int) -> None:
        comm = self._comm
        if comm._spans is not None:
            begun -= comm._records.began
            comm._spans.append((verb, kind, begun, comm.now(), comm._members[peer], 0, nbytes))
