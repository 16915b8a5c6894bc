"""What a stopped rank had told MPI of: messages that come later find its memory still there."""

import os
import signal
import sys
import time
import weakref

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_runtime.diagnosis.frames import dumped_line
from ddl_teach import comm

SIZE = 100_000
BEGINNING = ("Irecv", "Isend", "Iallreduce", "Ireduce", "Iallgatherv", "Iscatter")


class Stopping:
    """MPI's communicator, under which a call ends only when its rank has been asked to stop."""

    def __init__(self, mpi, monitor):
        self._mpi, self._monitor = mpi, monitor

    def __getattr__(self, name):
        return self._stopping(name) if name in BEGINNING else getattr(self._mpi, name)

    def _stopping(self, name):
        begin = getattr(self._mpi, name)

        def begun(*words):
            handle = begin(*words)
            while not self._monitor.stopping:
                time.sleep(0.001)
            time.sleep(0.05)  # the signal comes
            return handle

        return begun


CALLS = {
    "recv": lambda comm, x: comm.recv(x, 1),
    "irecv": lambda comm, x: comm.irecv(x, 1).wait(),
    "sendrecv": lambda comm, x: comm.sendrecv(np.zeros(1), 1, x, 1),
    "send": lambda comm, x: comm.send(x, 1),
    "isend": lambda comm, x: comm.isend(x, 1).wait(),
    "native all-reduce": lambda comm, x: comm.native.allreduce(x),
    "native all-reduce of our own": lambda comm, x: comm.native.allreduce(x.view(np.float16)),
    "native reduce": lambda comm, x: comm.native.reduce(x),
    "native all-gather": lambda comm, x: comm.native.allgather(x),
    "native scatter": lambda comm, x: comm.native.scatter(np.zeros(2 * SIZE), x),
}


def is_stopped_in(comm, call, at_once):
    if comm.rank == 1:
        time.sleep(0.1)
        raise ValueError("the others stop")
    if at_once:
        comm.context.mpi = Stopping(comm.mpi, comm.context.monitor)
    x = np.zeros(SIZE)
    sys.told_of = weakref.ref(x)  # the process keeps it for the next program
    CALLS[call](comm, x)


def is_it_there(comm):
    return sys.told_of() is not None


@pytest.mark.parametrize("at_once", [False, True], ids=["while it waits", "before it waits"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.sampled(4)
def test_arrays_that_mpi_knows_of_outlive_a_stopped_program(real, call, at_once):
    with pytest.raises(RankFailed, match="the others stop"):
        real(is_stopped_in, 2, call=call, at_once=at_once)
    assert real(is_it_there, 1).results == [True]


def is_stopped_beside(comm):
    if comm.rank == 1:
        comm.background(lambda other: None).wait()
        time.sleep(0.1)
        raise ValueError("the others stop")
    x = np.zeros(SIZE)
    sys.told_of = weakref.ref(x)
    comm.background(lambda other: other.recv(x, 1)).wait()


def test_what_a_function_in_the_background_receives_into_outlives_it(real):
    with pytest.raises(RankFailed, match="the others stop"):
        real(is_stopped_beside, 2)
    assert real(is_it_there, 1).results == [True]


def computes_after_a_message(comm):
    """Its rank was not stopped while it sent, and waits for nobody after that."""
    if comm.rank == 1:
        raise ValueError("the others stop")
    comm.context.mpi = Stopping(comm.mpi, comm.context.monitor)
    comm.isend(np.zeros(1), 1)
    while True:
        time.sleep(0.01)


def test_a_rank_that_goes_on_without_messages_is_stopped_all_the_same(real):
    before = real(process, 2).results
    with pytest.raises(RankFailed, match="the others stop"):
        real(computes_after_a_message, 2)
    assert real(process, 2).results == before


def process(comm):
    return os.getpid()


def some_come_late(comm, dtype):
    """Rank 0 is stopped while MPI adds; rank 1 joins it only then, and rank 0 learns of that in
    the midst of the next program."""
    from ddl_runtime.mpi.native_collectives import _reduction
    from ddl_runtime.mpi.wire import MPI

    pair = comm.split(comm.rank // 2)
    x = np.ones(SIZE, dtype)
    if comm.rank == 0:
        pair.native.allreduce(x)
    if comm.rank == 1:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        while not comm.context.monitor.stopping:
            time.sleep(0.001)
        time.sleep(0.1)
        buffer, operation = _reduction(x, "sum").__enter__()
        handle = pair.mpi.Iallreduce(MPI.IN_PLACE, buffer(x), operation)
        for _ in range(100):
            handle.Test()
            time.sleep(0.001)
        pair.context.records.given_up.append((handle, operation, x))
    if comm.rank == 2:
        time.sleep(0.05)
        raise ValueError("the others stop")


def much_memory(comm):
    arrays = [np.full(size, 7.0) for size in (10, 100, 1000, 10_000, 40_000) * 20]
    for _ in range(100):
        comm.barrier()
    return os.getpid(), all((x == 7.0).all() for x in arrays)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_a_sum_that_goes_on_in_a_later_program_harms_nobody(real, dtype):
    before = real(much_memory, 4).results
    with pytest.raises(RankFailed, match="the others stop"):
        real(some_come_late, 4, dtype=dtype)
    assert real(much_memory, 4).results == before
    assert all(whole for _, whole in before)


def test_a_crash_that_later_messages_cause_is_told_with_its_line():
    place = os.path.join(os.path.dirname(comm.__file__), "world.py")
    stack = f'  File "{place}", line 35 in begin\n  File "<frozen runpy>", line 88 in _run_code\n'
    assert dumped_line(stack) == "world.py:35 in begin"
