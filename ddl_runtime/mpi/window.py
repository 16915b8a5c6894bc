"""Windows of real ranks: MPI's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ddl_runtime.core.window import SharedMemory, Window, check_one_node, check_room, too_large
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.delivery import Delivery
from ddl_runtime.mpi.diagnosis import explain_call
from ddl_runtime.mpi.wire import MPI

PAGE = 4096
STRIDE = 8  # counters of 8 bytes, one per cache line of 64: ranks do not jostle for a line


class Windows:
    """Makes the memory and windows that ranks of one communicator share. `meet` waits for all
    ranks first, since MPI's own calls would wait for them without an end that can be
    interrupted."""

    def __init__(self, delivery: Delivery, meet: Callable[[str], None]) -> None:
        self._delivery = delivery
        self._context = delivery.context
        self._meet = meet

    def shared_memory(self, nbytes: int) -> SharedMemory:
        context = self._context
        self._meet("shared_memory")
        nodes = [context.nodes[member] for member in context.members]
        check_one_node(nodes)
        check_room("shared_memory", context.mpi.allgather(nbytes), nodes, context.rank)
        # Page by page, so that no two parts share a cache line; the counters come last.
        part = -(-nbytes // PAGE) * PAGE
        own = part + (context.size * STRIDE * 8 if context.rank == 0 else 0)
        try:
            window = MPI.Win.Allocate_shared(own, comm=context.mpi)
        except MPI.Exception as error:
            raise too_large("shared_memory", nbytes, f"which MPI refuses ({error})") from None
        window.Lock_all(MPI.MODE_NOCHECK)
        context.records.windows.append(window)
        memory = [
            np.frombuffer(window.Shared_query(rank)[0], np.uint8) for rank in range(context.size)
        ]
        counters = memory[0][part:].view(np.int64)
        if context.rank == 0:
            counters[:] = 0
        context.mpi.Barrier()
        fence = Fence(context, window, counters)
        return SharedMemory([each[:nbytes] for each in memory], fence)

    def window(self, size: int, dtype: Any) -> MPIWindow:
        self._meet("window")
        return MPIWindow(self._delivery, size, dtype)


class MPIWindow(Window):
    """A window that is open from its making to the end of the program."""

    def __init__(self, delivery: Delivery, size: int, dtype: np.dtype[Any]) -> None:
        self._delivery = delivery
        self._context = context = delivery.context
        self.sizes = context.mpi.allgather(size)
        nbytes = [each * dtype.itemsize for each in self.sizes]
        nodes = [context.nodes[member] for member in context.members]
        check_room("window", nbytes, nodes, context.rank)
        own = nbytes[context.rank]
        try:
            self._window = MPI.Win.Allocate(own, dtype.itemsize, comm=context.mpi)
        except MPI.Exception as error:
            raise too_large("window", own, f"which MPI refuses ({error})") from None
        self._window.Lock_all(MPI.MODE_NOCHECK)
        context.records.windows.append(self._window)
        self.own = np.frombuffer(self._window.tomemory(), dtype, size)
        self.own[...] = 0
        context.mpi.Barrier()

    def _read(self, out: np.ndarray, source: int, start: int) -> None:
        begun = time.perf_counter()
        self._finish(self._window.Rget(out, source, start), "get", source)
        # The owner's memory sent these bytes: its ledger gets them when the program is over.
        member = self._context.members[source]
        self._context.records.fetched.append((member, out.nbytes))
        self._context.note("get", "recv", begun, member, 0, out.nbytes)

    def _write(self, verb: str, x: np.ndarray, to: int, start: int) -> None:
        begun = time.perf_counter()
        if verb == "put":
            handle = self._window.Rput(x, to, start)
        else:
            handle = self._window.Raccumulate(x, to, start, MPI.SUM)
        self._finish(handle, verb, to)
        self._window.Flush(to)  # done there as well, not only on its way
        member = self._context.members[to]
        self._context.records.ledger.append((member, 0, x.nbytes, verb))
        self._context.note(verb, "send", begun, member, 0, x.nbytes)

    def _fetch(self, x: np.ndarray, to: int, place: int) -> float:
        before = np.empty_like(x)
        self._window.Fetch_and_op(x, before, to, place, MPI.SUM)
        self._window.Flush(to)
        records, member = self._context.records, self._context.members[to]
        records.ledger.append((member, 0, x.nbytes, "add"))
        records.fetched.append((member, x.nbytes))
        value: float = before[0].item()
        return value

    def _finish(self, handle: Any, verb: str, peer: int) -> None:
        # The handle holds the array.
        self._delivery.finish_call(handle, f"window.{verb}()", (self._context.members[peer],))


class Fence:
    """A barrier on counters in shared memory: each rank counts up its own, and waits until those
    of all others are as high."""

    def __init__(self, context: MPIContext, window: Any, counters: Any) -> None:
        self._context = context
        self._window = window
        self._counters = memoryview(counters)
        self._count = 0
        self._spins = range(self._context.polling.spins)
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
                waiting = context, "fence()", (context.members[rank],)
                context.polling.wait(partial(self._arrived, place), explain_call, *waiting)
        window.Sync()

    def _arrived(self, place: int) -> bool:
        count: int = self._counters[place]
        return count >= self._count
