"""Native: what the MPI library itself offers, for comparison.

Cost: the library's secret. It chooses among algorithms like ours by size and number of ranks; what
it sends inside is not in the ledger, which holds one entry of kind "native" per call.
Arrays of a device are copied to the host and back, whole: the non-blocking reductions that wait
without hanging crash on device memory in some libraries (Open MPI, mpi4py's issue 164).
MPI Forum, "MPI: A message-passing interface standard", chapter on collective communication.
What to look at: for which sizes our transparent algorithms come close, or win.
"""

from typing import Any

from ddl_runtime.core.arrays import Array, Operation, split_evenly
from ddl_runtime.devices.on_host import on_host
from ddl_teach.comm import Comm


def library(comm: Comm, collective: str) -> Any:
    """The library behind the communicator, or an error that says what to do without one."""
    native = getattr(comm, "native", None)
    if native is None:
        raise RuntimeError(
            f"rank {comm.rank}: native.{collective} asks the MPI library, but behind simulated "
            "ranks there is none. Run the program with launch, or take another algorithm here: "
            "the registry lists them by name."
        )
    return native


def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place."""
    with on_host(x) as here:
        library(comm, "allreduce").allreduce(here, op)


def reduce_scatter(comm: Comm, x: Array, op: Operation = "sum") -> Array:
    """Return this rank's chunk of the combination of all `x`; the rest of `x` is scratch."""
    with on_host(x) as here:
        library(comm, "reduce_scatter").reduce_scatter(here, op)
    return split_evenly(x, comm.size)[comm.rank]


def allgather(comm: Comm, x: Array) -> None:
    """Every rank contributes its own chunk of `x` and gets those of all others."""
    with on_host(x) as here:
        library(comm, "allgather").allgather(here)


def broadcast(comm: Comm, x: Array, root: int = 0) -> None:
    """Copy the root's `x` into everybody's `x`."""
    with on_host(x) as here:
        library(comm, "broadcast").broadcast(here, root)


def reduce(comm: Comm, x: Array, root: int = 0, op: Operation = "sum") -> None:
    """Combine all `x` in the root's `x`."""
    with on_host(x) as here:
        library(comm, "reduce").reduce(here, root, op)


def gather(comm: Comm, x: Array, out: Array | None, root: int = 0) -> None:
    """Collect the blocks `x` of all ranks in the root's `out`; the others may give None."""
    with on_host(x) as here, on_host(out) as into:
        library(comm, "gather").gather(here, into, root)


def scatter(comm: Comm, x: Array | None, out: Array, root: int = 0) -> None:
    """Hand block r of the root's `x` to rank r's `out`; the others may give None as `x`."""
    with on_host(x) as here, on_host(out) as into:
        library(comm, "scatter").scatter(here, into, root)


def alltoall(comm: Comm, x: Array, out: Array) -> None:
    """Block s of rank r's `x` becomes block r of rank s's `out`."""
    with on_host(x) as here, on_host(out) as into:
        library(comm, "alltoall").alltoall(here, into)


def scan(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """The combination of the `x` of ranks 0 .. rank, in place."""
    with on_host(x) as here:
        library(comm, "scan").scan(here, op)


def barrier(comm: Comm) -> None:
    """Return when all ranks have called it."""
    library(comm, "barrier").barrier()
