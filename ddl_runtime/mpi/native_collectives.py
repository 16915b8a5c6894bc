"""MPI's own collectives behind our signatures, for comparison.

They run in MPI's non-blocking form and are waited for as every message is, so a rank that never
comes is found out here too. One that nobody waits for any more cannot be taken back: MPI goes on
with it in the midst of later programs, so its arrays are kept. What MPI sends inside nobody sees:
the ledger holds one entry of kind "native" per call, which counts no bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddl_runtime.core import arrays
from ddl_runtime.core.arrays import Array, Operation, describe
from ddl_runtime.mpi.delivery import Delivery

OPERATIONS = {"sum": "SUM", "max": "MAX", "min": "MIN", "product": "PROD"}
NO_MPI_ARITHMETIC = ("bool", "float16", "bfloat16", "complex32")


class Native:
    """The collectives of the MPI library, on one communicator."""

    def __init__(self, delivery: Delivery, library: Any) -> None:
        self._delivery = delivery
        self._context = delivery.context
        self._mpi = delivery.context.mpi
        self._library = library

    def barrier(self) -> None:
        self._wait("barrier", self._mpi.Ibarrier())

    def allreduce(self, x: Array, op: Operation = "sum") -> None:
        with _Reduction(self._library, x, op) as (buffer, operation):
            place = self._library.IN_PLACE
            self._wait("allreduce", self._mpi.Iallreduce(place, buffer, operation), x, operation)

    def blocking_allreduce(self, x: np.ndarray, op: str = "sum") -> None:
        """MPI's blocking form, which nothing can interrupt: what a benchmark compares with."""
        self._context.ledger.append((-1, -1, x.nbytes, "native"))
        operation = getattr(self._library, OPERATIONS[op])
        self._mpi.Allreduce(self._library.IN_PLACE, x, operation)

    def reduce(self, x: Array, root: int = 0, op: Operation = "sum") -> None:
        with _Reduction(self._library, x, op) as (buffer, operation):
            if self._context.rank == root:
                request = self._mpi.Ireduce(self._library.IN_PLACE, buffer, operation, root)
            else:
                request = self._mpi.Ireduce(buffer, None, operation, root)
            self._wait("reduce", request, x, operation)

    def scan(self, x: Array, op: Operation = "sum") -> None:
        with _Reduction(self._library, x, op) as (buffer, operation):
            place = self._library.IN_PLACE
            self._wait("scan", self._mpi.Iscan(place, buffer, operation), x, operation)

    def reduce_scatter(self, x: Array, op: Operation = "sum") -> Array:
        """Returns this rank's reduced chunk, a view of `x`; the other chunks are undefined."""
        chunks = arrays.split_evenly(x, self._context.size)
        mine = chunks[self._context.rank]
        result = arrays.empty_like(mine)
        counts = [len(chunk) for chunk in chunks]
        reduction = _Reduction(self._library, x, op)
        with reduction as (buffer, operation):
            out = reduction.buffer(result)
            request = self._mpi.Ireduce_scatter(buffer, out, counts, operation)
            self._wait("reduce_scatter", request, x, result, operation)
        arrays.copy_into(mine, result)
        return mine

    def allgather(self, x: Array) -> None:
        """In place: every rank contributes its own chunk of `x`."""
        sizes = [chunk.nbytes for chunk in arrays.split_evenly(x, self._context.size)]
        buffer = [arrays.as_bytes(x), sizes, self._library.BYTE]
        place = self._library.IN_PLACE
        self._wait("allgather", self._mpi.Iallgatherv(place, buffer), x)

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

    def _bytes(self, x: Array) -> list[Any]:
        describe(x)
        return [arrays.as_bytes(x), self._library.BYTE]

    def _wait(self, name: str, request: Any, *known: Any) -> None:
        """`known` is what MPI knows of: first the array that the ledger counts."""
        nbytes = known[0].nbytes if known else 0
        self._context.ledger.append((-1, -1, nbytes, "native"))
        self._delivery.finish_call(request, f"native {name}()", self._context.others, *known)


class _Reduction:
    """What MPI needs to know of an array and an operation. Types and functions that MPI does not
    know are reduced by our own arithmetic, called back from inside the library."""

    def __init__(self, library: Any, x: Array, op: Operation) -> None:
        if x.__class__ is arrays.Phantom:
            raise TypeError("MPI's own reductions need real data, not a Phantom")
        self._library = library
        self._x = x
        self._op = op
        self._element: Any = None
        self._operation: Any = None

    def __enter__(self) -> tuple[Any, Any]:
        library, name = self._library, arrays.type_name(self._x)
        ordered = self._op in ("max", "min") and name.startswith(("complex", "clong"))
        if self._op in OPERATIONS and name not in NO_MPI_ARITHMETIC and not ordered:
            return self.buffer(self._x), getattr(library, OPERATIONS[self._op])
        itemsize = self._x.dtype.itemsize
        self._element = library.BYTE.Create_contiguous(itemsize).Commit()
        self._operation = library.Op.Create(self._reduce, commute=True)
        return self.buffer(self._x), self._operation

    def buffer(self, x: Array) -> Any:
        """The memory of `x` with the element type that MPI is told."""
        if self._element is not None:
            return [arrays.as_bytes(x), self._element]
        return x.reshape(-1) if isinstance(x, np.ndarray) else x.detach().reshape(-1).numpy()

    def _reduce(self, incoming: Any, held: Any, _: Any) -> None:
        a, b = (
            arrays.as_elements(np.frombuffer(memory, np.uint8), self._x)
            for memory in (incoming, held)
        )
        arrays.combine(self._op, a, b, out=b)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # After a failure MPI may still call it, in the midst of a later program.
        if kind is None and self._element is not None:
            self._element.Free()
            self._operation.Free()
