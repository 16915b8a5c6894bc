"""MPI's own collectives behind our signatures, for comparison.

They run in MPI's non-blocking form and are waited for as every message is, so a rank that never
comes is found out here too. MPI goes on with one that is given up in the midst of later programs,
so its arrays are kept. The ledger holds one entry of kind "native" a call, which counts no bytes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ddl_runtime.core import arrays
from ddl_runtime.core.arrays import Array, Operation, describe
from ddl_runtime.mpi.delivery import Delivery
from ddl_runtime.mpi.wire import MPI

OPERATIONS = {"sum": "SUM", "max": "MAX", "min": "MIN", "product": "PROD"}
NO_MPI_ARITHMETIC = ("bool", "float16", "bfloat16", "complex32")


class Native:
    """The collectives of the MPI library, on one communicator."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._context = delivery.context
        self._mpi = delivery.context.mpi

    def barrier(self) -> None:
        self._wait("barrier", self._mpi.Ibarrier())

    def allreduce(self, x: Array, op: Operation = "sum") -> None:
        self._combine("allreduce", x, op)

    def scan(self, x: Array, op: Operation = "sum") -> None:
        self._combine("scan", x, op)

    def blocking_allreduce(self, x: np.ndarray) -> None:
        """MPI's blocking form, which nothing can interrupt: what a benchmark compares with."""
        self._context.ledger.append((-1, -1, x.nbytes, "native"))
        self._mpi.Allreduce(MPI.IN_PLACE, x)

    def reduce(self, x: Array, root: int = 0, op: Operation = "sum") -> None:
        with _reduction(x, op) as (buffer, operation):
            at_root = self._context.rank == root
            source, into = (MPI.IN_PLACE, buffer(x)) if at_root else (buffer(x), None)
            self._wait("reduce", self._mpi.Ireduce(source, into, operation, root), x, operation)

    def reduce_scatter(self, x: Array, op: Operation = "sum") -> Array:
        """Returns this rank's reduced chunk, a view of `x`; the other chunks are undefined."""
        chunks = arrays.split_evenly(x, self._context.size)
        mine = chunks[self._context.rank]
        result = arrays.empty_like(mine)
        counts = [len(chunk) for chunk in chunks]
        with _reduction(x, op) as (buffer, operation):
            request = self._mpi.Ireduce_scatter(buffer(x), buffer(result), counts, operation)
            self._wait("reduce_scatter", request, x, result, operation)
        arrays.copy_into(mine, result)
        return mine

    def allgather(self, x: Array) -> None:
        """In place: every rank contributes its own chunk of `x`."""
        sizes = [chunk.nbytes for chunk in arrays.split_evenly(x, self._context.size)]
        buffer = [arrays.as_bytes(x), sizes, MPI.BYTE]
        self._wait("allgather", self._mpi.Iallgatherv(MPI.IN_PLACE, buffer), x)

    def broadcast(self, x: Array, root: int = 0) -> None:
        self._wait("broadcast", self._mpi.Ibcast(self._bytes(x), root), x)

    def gather(self, x: Array, out: Array | None, root: int = 0) -> None:
        into = self._bytes(out) if self._context.rank == root else None
        self._wait("gather", self._mpi.Igather(self._bytes(x), into, root), x, out)

    def scatter(self, x: Array | None, out: Array, root: int = 0) -> None:
        source = self._bytes(x) if self._context.rank == root else None
        self._wait("scatter", self._mpi.Iscatter(source, self._bytes(out), root), out, x)

    def alltoall(self, x: Array, out: Array) -> None:
        self._wait("alltoall", self._mpi.Ialltoall(self._bytes(x), self._bytes(out)), x, out)

    def _combine(self, name: str, x: Array, op: Operation) -> None:
        with _reduction(x, op) as (buffer, operation):
            begin = getattr(self._mpi, f"I{name}")
            self._wait(name, begin(MPI.IN_PLACE, buffer(x), operation), x, operation)

    def _bytes(self, x: Array) -> list[Any]:
        describe(x)
        return [arrays.as_bytes(x), MPI.BYTE]

    def _wait(self, name: str, request: Any, *known: Any) -> None:
        """`known` is what MPI knows of: first the array that the ledger counts."""
        nbytes = known[0].nbytes if known else 0
        self._context.ledger.append((-1, -1, nbytes, "native"))
        self._delivery.finish_call(request, f"native {name}()", self._context.others, *known)


@contextmanager
def _reduction(x: Array, op: Operation) -> Iterator[tuple[Callable[[Array], Any], Any]]:
    """Gives what MPI needs to reduce arrays like `x`: a function from an array to its memory and
    element type, and the operation. For types and functions that MPI does not know, MPI calls our
    own arithmetic."""
    if x.__class__ is arrays.Phantom:
        raise TypeError("MPI's own reductions need real data, not a Phantom")
    name = arrays.type_name(x)
    ordered = op in ("max", "min") and name.startswith(("complex", "clong"))
    if op in OPERATIONS and name not in NO_MPI_ARITHMETIC and not ordered:
        yield _elements, getattr(MPI, OPERATIONS[op])
        return

    def combine(incoming: Any, held: Any, _: Any) -> None:
        a, b = (
            arrays.as_elements(np.frombuffer(memory, np.uint8), x) for memory in (incoming, held)
        )
        arrays.combine(op, a, b, out=b)

    element = MPI.BYTE.Create_contiguous(x.dtype.itemsize).Commit()
    operation = MPI.Op.Create(combine, commute=True)
    yield lambda array: [arrays.as_bytes(array), element], operation
    # Not after a failure: MPI may still call it then, in the midst of a later program.
    element.Free()
    operation.Free()


def _elements(x: Array) -> Any:
    return x.reshape(-1) if isinstance(x, np.ndarray) else x.detach().reshape(-1).numpy()
