"""All processes that were started together, ready to run one program after another."""

import socket
import time
from typing import Any, NoReturn

from ddl_runtime.core.memory import RankMemory
from ddl_runtime.devices.staging import Copies
from ddl_runtime.mpi.communicator import MPIComm, fault_tolerant
from ddl_runtime.mpi.context import MPIContext, Records
from ddl_runtime.mpi.polling import Monitor
from ddl_runtime.mpi.wire import MPI
from ddl_runtime.records.run import Books


class World:
    """The processes of this start, and what earlier programs left behind."""

    def __init__(self) -> None:
        self._mpi = MPI.COMM_WORLD
        self.rank = self._mpi.rank
        self.size = self._mpi.size
        names = self._mpi.allgather(socket.gethostname())
        self._nodes = [sorted(set(names), key=names.index).index(name) for name in names]
        self._copies = Copies()
        # What programs that failed have left with MPI, and its memory, for as long as we live.
        self._abandoned: list[tuple[dict[Any, None], list[Any]]] = []
        self._windows: list[MPI.Win] = []

    def begin(
        self, ranks: int, trace: bool, monitor: Monitor, *, strict: bool = False,
        memory: float | None = None,
    ) -> MPIComm:  # fmt: skip
        """A fresh communicator of the first `ranks` processes: no message of an earlier program
        can stray into it. All of them must call this at the same time."""
        group = self._mpi.group.Incl(range(ranks))
        mpi = self._mpi.Create_group(group)
        held = RankMemory.where_counted(mpi.rank, trace, memory)
        records = Records(trace, self._copies, strict, held)
        place = mpi, range(ranks), self._nodes[:ranks], records, monitor
        comm = MPIComm(MPIContext(*place, survivors=fault_tolerant()))
        mpi.Barrier()
        # One clock for all ranks of a node; measure.clocks corrects the offsets between nodes.
        records.began = mpi.bcast(time.perf_counter())
        return comm

    def end(self, comm: MPIComm) -> None:
        """A program has returned: finish the sends it began and did not wait for."""
        if comm.context.watch is not None and not comm.context.survivors:
            comm.context.watch.conclude()
        for request in list(comm.context.records.open):
            if request.sends:
                comm.context.polling.wait(request.finished, request.explain)
        for background in comm.context.records.background:
            background.wait()

    def books(self, comm: MPIComm) -> Books:
        """What was recorded on this rank: ledger, received messages, spans, what it has read in
        the windows of others, what it held, its collectives."""
        records = comm.context.records
        held = [] if records.memory is None else records.memory.changes
        return records.ledger, records.received, records.spans, records.fetched, held, records.logs

    def gather(self, comm: MPIComm, value: Any) -> list[Any] | None:
        """The `value` of each rank, None for dead ranks, on the first living rank; None on the
        others. All ranks call it together, when they are done with `comm`."""
        if not comm.context.survivors:
            comm.barrier()  # no rank waits inside MPI for one that never comes
            return self._mpi.gather(value)
        comm.agree()
        left = self._mpi.Shrink()
        by_rank = left.gather((self.rank, value))
        left.Agree(1)  # or a rank that ends now looks lost to one that still receives
        return by_rank and [dict(by_rank).get(rank) for rank in range(self.size)]

    def abort(self, status: int) -> NoReturn:
        self._mpi.Abort(status)

    def free(self) -> None:
        """Give the last program's shared memory back. MPI does so only together: called when
        all ranks have returned; after a failure it is kept instead."""
        for window in self._windows:
            window.Unlock_all()
            window.Free()
        self._windows.clear()

    def clear(self, comm: MPIComm) -> None:
        """Keep what a program has left: its windows, to be freed later, and its requests that were
        not waited for. It is called when the program is over, however it ended."""
        records = comm.context.records
        self._windows = records.windows
        # A function that still runs in the background may leave more requests. Whether one runs is
        # asked first, or one that ends in between would be missed.
        working = comm.context.monitor.strands > 1
        for request in list(records.open):
            request.abandon()
        if working or records.open or records.given_up:
            self._abandoned.append((records.open, records.given_up))

    def drain(self) -> None:
        """Throw away what has come on MPI's own communicator and was never received; all ranks
        do so together, none of them in a program."""
        self._mpi.Barrier()
        status = MPI.Status()
        while self._mpi.Iprobe(status=status):
            nobody_asked_for = bytearray(status.Get_count(MPI.BYTE))
            self._mpi.Recv([nobody_asked_for, MPI.BYTE], status.Get_source(), status.Get_tag())
        self._mpi.Barrier()
