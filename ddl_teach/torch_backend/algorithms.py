"""Which algorithm carries out a collective of torch's, and what it is given.

An algorithm is a function as `ddl_teach.collectives` has them, of the library or of one's own.
It is given flat NumPy arrays that share the memory of torch's tensors; tensors, where NumPy has no
such type (bfloat16); and Phantoms, where tensors have no data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensor

from ddl_runtime.core.arrays import Array, Operation, copy_into, split_evenly
from ddl_teach.collectives import registry, ring, tree
from ddl_teach.collectives.blocks import room_for
from ddl_teach.comm import Comm, Phantom
from ddl_teach.torch_backend import streams

USUAL = {
    "allreduce": "ring", "reduce_scatter": "ring", "allgather": "ring", "broadcast": "tree",
    "reduce": "tree", "gather": "tree", "scatter": "tree", "alltoall": "pairwise",
    "barrier": "dissemination",
}  # fmt: skip
NOT_IN_NUMPY = (torch.bfloat16, torch.complex32)
OPERATIONS: dict[Any, Operation] = {
    dist.ReduceOp.SUM: "sum",
    dist.ReduceOp.AVG: "sum",
    dist.ReduceOp.PREMUL_SUM: "sum",
    dist.ReduceOp.MAX: "max",
    dist.ReduceOp.MIN: "min",
    dist.ReduceOp.PRODUCT: "product",
    dist.ReduceOp.BAND: np.bitwise_and,
    dist.ReduceOp.BOR: np.bitwise_or,
    dist.ReduceOp.BXOR: np.bitwise_xor,
}


def row_is_size(tensor: torch.Tensor) -> bool:
    """Whether the tensor has a size and no data."""
    return isinstance(tensor, FakeTensor) or tensor.is_meta


def row_of(tensor: torch.Tensor) -> Array:
    """The tensor's elements in a flat array that shares its memory; nothing that this rank has put
    on a side stream still writes into them."""
    if row_is_size(tensor):
        return Phantom(tensor.numel() * tensor.element_size(), tensor.element_size())
    streams.before_reading((tensor,))
    if not tensor.is_contiguous():
        raise ValueError(
            f"a tensor of shape {tuple(tensor.shape)} is not contiguous ({tensor.layout}, strides "
            f"{tensor.stride()}), and collectives need that: use tensor.to_dense().contiguous()"
        )
    row = tensor.detach().view(-1)
    if _is_float8(row):
        row = row.view(torch.uint8)  # no type that travels, and nobody adds them up
    return row if row.dtype in NOT_IN_NUMPY or row.device.type != "cpu" else row.numpy()


def _is_float8(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.element_size() == 1


def rows_of(tensors: Sequence[torch.Tensor]) -> list[Array]:
    """One row for each of the tensors."""
    return [row_of(tensor) for tensor in tensors]


def chosen(algorithms: dict[str, str | Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The functions of these names."""
    functions = {}
    for collective, algorithm in algorithms.items():
        if collective not in USUAL:
            raise ValueError(registry.unknown("collective", collective, tuple(USUAL)))
        if isinstance(algorithm, str):
            functions[collective] = registry.function(algorithm, collective)
        elif callable(algorithm):
            functions[collective] = algorithm
        else:
            raise TypeError(f"{collective} must be the name of an algorithm, or your function")
    return functions


class Reduction(NamedTuple):
    """What torch calls an operation: factors before and after it are part of it."""

    op: Operation
    before: float = 1.0
    averages: bool = False

    @classmethod
    def of(cls, reduce_op: Any, tensors: Sequence[torch.Tensor]) -> Reduction:
        """What `reduce_op` asks for, of tensors that it can be done with."""
        kind = getattr(reduce_op, "op", reduce_op)
        averages = kind == dist.ReduceOp.AVG
        for tensor in tensors:
            fractions = tensor.is_floating_point() or tensor.is_complex()
            if _is_float8(tensor):
                raise TypeError(f"{tensor.dtype} is too coarse for sums: use x.bfloat16()")
            if averages and not fractions:
                raise TypeError(f"{tensor.dtype} cannot hold an average: use SUM, and divide")
            if fractions and kind in (dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR):
                raise TypeError(f"{kind} works on whole numbers, not on {tensor.dtype}")
        before = float(reduce_op.factor) if kind == dist.ReduceOp.PREMUL_SUM else 1.0
        return cls(OPERATIONS[kind], before, averages)

    @property
    def name(self) -> str:
        """What all ranks must ask for alike; factors may differ."""
        return "mean" if self.averages else str(getattr(self.op, "__name__", self.op))

    def prepare(self, row: Array) -> None:
        """Before the ranks' rows are combined."""
        if self.before != 1.0:
            _scale(row, self.before)

    def conclude(self, row: Array, size: int) -> None:
        """When they are."""
        if self.averages:
            _scale(row, 1 / size)


def _scale(row: Array, factor: float) -> None:
    if isinstance(row, np.ndarray):
        np.multiply(row, row.dtype.type(factor), out=row)
    elif isinstance(row, torch.Tensor):
        with torch.no_grad():
            row.mul_(factor)


class Collectives:
    """Collectives of rows, by the algorithms that a rank has chosen. The first argument of each
    is the communicator on which it is carried out, and rows are overwritten only where torch says
    so."""

    def __init__(self) -> None:
        self._chosen = chosen(dict(USUAL))

    def choose(self, algorithms: dict[str, str | Callable[..., Any]]) -> None:
        """Use these algorithms from now on."""
        self._chosen |= chosen(algorithms)

    def barrier(self, comm: Comm) -> None:
        self._chosen["barrier"](comm)

    def broadcast(self, comm: Comm, rows: Sequence[Array], root: int) -> None:
        for row in rows:
            self._chosen["broadcast"](comm, row, root)

    def allreduce(self, comm: Comm, rows: Sequence[Array], how: Reduction) -> None:
        for row in rows:
            how.prepare(row)
            # A learner's own may know sums alone.
            self._chosen["allreduce"](comm, row, *(() if how.op == "sum" else (how.op,)))
            how.conclude(row, comm.size)

    def reduce(self, comm: Comm, row: Array, root: int, how: Reduction) -> None:
        if comm.rank != root:
            row = _copy(row)  # it would be scratch
        how.prepare(row)
        self._chosen["reduce"](comm, row, root, how.op)
        if comm.rank == root:
            how.conclude(row, comm.size)

    def allgather(self, comm: Comm, out: Array, row: Array) -> None:
        """`out` becomes the rows of all ranks, which are of one length."""
        copy_into(split_evenly(out, comm.size)[comm.rank], row)
        self._chosen["allgather"](comm, out)

    def allgather_list(self, comm: Comm, outs: Sequence[Array], row: Array) -> None:
        """Each of `outs` becomes the row of its rank; their lengths may differ."""
        if len(set(map(len, outs))) == 1:
            whole = room_for(comm.size * len(row), row)
            self.allgather(comm, whole, row)
            _copy_all(outs, split_evenly(whole, comm.size))
        else:
            copy_into(outs[comm.rank], row)
            ring.pass_round(comm, outs)

    def reduce_scatter(self, comm: Comm, out: Array, row: Array, how: Reduction) -> None:
        """`out` becomes this rank's chunk of the combination of all rows."""
        scratch = _copy(row)
        how.prepare(scratch)
        call = self._chosen["reduce_scatter"]
        copy_into(out, call(comm, scratch, *(() if how.op == "sum" else (how.op,))))
        how.conclude(out, comm.size)

    def reduce_scatter_list(
        self, comm: Comm, out: Array, parts: Sequence[Array], how: Reduction
    ) -> None:
        """The same from one part for each rank, whose lengths may differ: then each part goes
        its own way, up a tree."""
        if len(set(map(len, parts))) == 1:
            self.reduce_scatter(comm, out, _joined(parts), how)
            return
        for root, part in enumerate(parts):
            scratch = _copy(part)
            how.prepare(scratch)
            tree.reduce(comm, scratch, root, how.op)
            if root == comm.rank:
                copy_into(out, scratch)
        how.conclude(out, comm.size)

    def gather(self, comm: Comm, outs: Sequence[Array], row: Array, root: int) -> None:
        whole = room_for(comm.size * len(row), row) if comm.rank == root else None
        self._chosen["gather"](comm, row, whole, root)
        if whole is not None:
            _copy_all(outs, split_evenly(whole, comm.size))

    def scatter(self, comm: Comm, out: Array, parts: Sequence[Array], root: int) -> None:
        self._chosen["scatter"](comm, _joined(parts) if parts else None, out, root)

    def alltoall(self, comm: Comm, out: Array, row: Array) -> None:
        """Chunk s of rank r's row becomes chunk r of rank s's `out`."""
        self._chosen["alltoall"](comm, row, out)

    def alltoall_list(self, comm: Comm, outs: Sequence[Array], parts: Sequence[Array]) -> None:
        """An all-to-all of lists. Lengths may differ from pair to pair, so each goes straight."""
        rank, size = comm.rank, comm.size
        copy_into(outs[rank], parts[rank])
        for step in range(1, size):
            above, below = (rank + step) % size, (rank - step) % size
            comm.sendrecv(parts[above], above, outs[below], below)


def _copy(row: Array) -> Array:
    copy = room_for(len(row), row)
    copy_into(copy, row)
    return copy


def _copy_all(targets: Sequence[Array], sources: Sequence[Array]) -> None:
    for target, source in zip(targets, sources, strict=True):
        copy_into(target, source)


def _joined(parts: Sequence[Array]) -> Array:
    whole, begin = room_for(sum(map(len, parts)), parts[0]), 0
    for part in parts:
        copy_into(whole[begin : begin + len(part)], part)
        begin += len(part)
    return whole
