"""Native: what the MPI library itself offers, for comparison.

Cost: the library's secret. It chooses among algorithms like ours by size and number of ranks; what
it sends inside is not in the ledger, which holds one entry of kind "native" per call.
MPI Forum, "MPI: A message-passing interface standard", chapter on collective communication.
What to look at: for which sizes our transparent algorithms come close, or win.
"""

from typing import Any

from ddl_teach.comm import Comm
from ddl_teach.comm.arrays import Array, Operation


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
    library(comm, "allreduce").allreduce(x, op)


def reduce_scatter(comm: Comm, x: Array, op: Operation = "sum") -> Array:
    """Return this rank's chunk of the combination of all `x`; the rest of `x` is scratch."""
    return library(comm, "reduce_scatter").reduce_scatter(x, op)


def allgather(comm: Comm, x: Array) -> None:
    """Every rank contributes its own chunk of `x` and gets those of all others."""
    library(comm, "allgather").allgather(x)


def broadcast(comm: Comm, x: Array, root: int = 0) -> None:
    """Copy the root's `x` into everybody's `x`."""
    library(comm, "broadcast").broadcast(x, root)


def reduce(comm: Comm, x: Array, root: int = 0, op: Operation = "sum") -> None:
    """Combine all `x` in the root's `x`."""
    library(comm, "reduce").reduce(x, root, op)


def gather(comm: Comm, x: Array, out: Array | None, root: int = 0) -> None:
    """Collect the blocks `x` of all ranks in the root's `out`; the others may give None."""
    library(comm, "gather").gather(x, out, root)


def scatter(comm: Comm, x: Array | None, out: Array, root: int = 0) -> None:
    """Hand block r of the root's `x` to rank r's `out`; the others may give None as `x`."""
    library(comm, "scatter").scatter(x, out, root)


def alltoall(comm: Comm, x: Array, out: Array) -> None:
    """Block s of rank r's `x` becomes block r of rank s's `out`."""
    library(comm, "alltoall").alltoall(x, out)


def scan(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """The combination of the `x` of ranks 0 .. rank, in place."""
    library(comm, "scan").scan(x, op)


def barrier(comm: Comm) -> None:
    """Return when all ranks have called it."""
    library(comm, "barrier").barrier()
