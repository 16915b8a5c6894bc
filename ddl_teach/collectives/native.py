"""Native: what the MPI library itself offers, for comparison.

Cost: unknown. The library chooses among algorithms like ours by size and number of ranks. What it
sends inside is not in the ledger, which holds one entry of kind "native" per call.
An array on a device is copied to the host as a whole, and back. The reason: in some libraries
non-blocking reductions crash on device memory (Open MPI, mpi4py's issue 164).
MPI Forum, "MPI: A message-passing interface standard", chapter on collective communication.
What to look at: for which sizes our transparent algorithms come close, or win.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from ddl_runtime.core.arrays import Array, Operation, on_host, split_evenly
from ddl_teach.comm import Comm, collective


def library(comm: Comm, name: str) -> Any:
    """The library behind the communicator, or an error that says what to do without one."""
    native = getattr(comm, "native", None)
    if native is None:
        raise RuntimeError(
            f"rank {comm.rank}: native.{name} asks the MPI library, but behind simulated "
            "ranks there is none. Run the program with launch, or take another algorithm here: "
            "the registry lists them by name."
        )
    return native


def _of_library(name: str, arrays: int = 1) -> Callable[..., None]:
    """The library's collective of that name, whose first `arrays` arguments are arrays."""

    def call(comm: Comm, *arguments: Any, **named: Any) -> None:
        verb = getattr(library(comm, name), name)
        with ExitStack() as copies:
            here = [copies.enter_context(on_host(x)) for x in arguments[:arrays]]
            verb(*here, *arguments[arrays:], **named)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The library's {name}; its arguments are those of all others here."
    return collective(call)


# What each of them is asked with stands in the table of `collectives`.
allreduce, allgather, broadcast = map(_of_library, ("allreduce", "allgather", "broadcast"))
reduce, scan, barrier = map(_of_library, ("reduce", "scan", "barrier"), (1, 1, 0))
gather, scatter, alltoall = (_of_library(name, 2) for name in ("gather", "scatter", "alltoall"))


def reduce_scatter(comm: Comm, x: Array, op: Operation = "sum") -> Array:
    """Return this rank's chunk of the combination of all `x`; the rest of `x` is scratch."""
    _of_library("reduce_scatter")(comm, x, op)
    return split_evenly(x, comm.size)[comm.rank]
