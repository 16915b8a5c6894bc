"""Ranks that something else has started: mpiexec by hand, a batch script, srun.

    mpiexec -n 4 python program.py        # with `join(main)` as its last line

Each process is a rank and runs the program; rank 0 is given the `Run`, the others None. A rank
that raises says so and ends all; a wait beyond the timeout ends with what it waited for.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddl_runtime.core.element_types import backward_on_this_thread
from ddl_runtime.core.memory import check_capacity
from ddl_runtime.core.running import end_process, run_program
from ddl_runtime.devices.placement import take_own_gpu
from ddl_runtime.diagnosis.deadlock import DiagnosedError, TimedOut
from ddl_runtime.diagnosis.frames import error_text, program_traceback
from ddl_runtime.mpi.polling import Monitor
from ddl_runtime.records.run import Run, concluded

if TYPE_CHECKING:
    from ddl_runtime.launcher.world import World
    from ddl_runtime.mpi.communicator import MPIComm

OTHERS_SPEAK = 1.0  # seconds in which others whose time is up say where they are


def joined(
    timeout: float = float("inf"), trace: bool = False, *, strict: bool = False,
    memory: float | None = None,
) -> tuple[World, MPIComm]:  # fmt: skip
    """All ranks that were started together, and a communicator of them."""
    check_capacity(memory)
    take_own_gpu()
    from ddl_runtime.launcher.world import World  # starts MPI

    world, monitor = World(), Monitor(seconds=timeout)
    return world, world.begin(world.size, trace, monitor, strict=strict, memory=memory)


def join(
    program: Callable[..., Any], *, timeout: float = 60, trace: bool = False,
    strict: bool = False, memory: float | None = None, **kwargs: Any,
) -> Run | None:  # fmt: skip
    """Run `program(comm, **kwargs)` on all ranks that were started together with this process.

    Where ranks may die, the first living rank is given the `Run`. The process then ends with 0, or
    with 1 after an exception, whatever status it gives `sys.exit`.
    """
    everybody, comm = joined(timeout, trace, strict=strict, memory=memory)
    from ddl_runtime.mpi.communicator import fault_tolerant  # MPI has been started by now

    backward_on_this_thread()
    try:
        result = run_program(program, comm, kwargs)
        everybody.end(comm)
        ending = comm.now(), everybody.books(comm), result
        endings = everybody.gather(comm, ending)
        run = concluded(endings, fault_tolerant()) if endings is not None else None
    except BaseException as error:
        with contextlib.suppress(OSError):  # the reader may be gone; the others must still end
            if isinstance(error, DiagnosedError):
                text = str(error)
            else:
                text = f"{error_text(error)}\n{program_traceback(error)}".rstrip()
            sys.stdout.flush()
            # In one piece: others print at the same time.
            os.write(2, f"\nrank {comm.rank} on {socket.gethostname()}: {text}\n".encode())
        if isinstance(error, TimedOut):
            time.sleep(OTHERS_SPEAK)
        everybody.abort(1)
    if fault_tolerant():
        atexit.register(_leave)
    else:
        everybody.free()
    return run


def _leave() -> None:
    """Python's end, without MPI's own way out, which would wait for the dead."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    end_process(int(hasattr(sys, "last_value")))  # as after an exception that was not caught
