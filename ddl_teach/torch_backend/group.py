"""A process group of torch's whose ranks are those of a communicator.

Its collectives run one after another on a line of their own, as those of a group of NCCL's run on
one stream: beside what the rank computes, until it waits. One that torch waits for at once is
carried out by the rank itself, without a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from ddl_teach.comm import ANY, Comm
from ddl_teach.torch_backend import streams
from ddl_teach.torch_backend.algorithms import Collectives, Reduction, row_of, rows_of
from ddl_teach.torch_backend.memory import note_message
from ddl_teach.torch_backend.work import CollectiveWork

Tensors = Sequence[torch.Tensor]
ProcessGroup: Any = dist.ProcessGroup  # torch's stubs have other names for the same calls


class RankGroup(ProcessGroup):  # type: ignore[misc]
    """What torch calls, in torch's words; `comm` is what its messages travel on."""

    def __init__(self, comm: Comm, collectives: Collectives, name: str = "") -> None:
        super().__init__(comm.rank, comm.size)
        self.comm = comm
        self._call = collectives
        self._name = name
        self._line = comm.line()

    def _begin(
        self, function: Callable[..., None], args: tuple[Any, ...], tensors: Any, opts: Any,
        nbytes: int | None = None, op: Any = None,
    ) -> CollectiveWork:  # fmt: skip
        """Carry out a collective, beside the rank's own work if torch does not wait for it."""
        self.comm.collective(f"torch.{function.__name__}", nbytes, op)  # on all ranks alike
        note_message(tensors)
        if getattr(opts, "asyncOp", True) or streams.side_stream() is not None:
            return CollectiveWork(self._line.start(function, *args), tensors)
        self._line.run(function, *args)
        return CollectiveWork(None, tensors)

    def _get_backend(self, device: torch.device) -> RankGroup:
        """This group, for every device: from torch 2.14 on `batch_isend_irecv` asks for it."""
        return self

    # -- the same tensor on all ranks -------------------------------------------------------

    def broadcast(self, tensors: Tensors, opts: Any = None) -> CollectiveWork:
        root = opts.rootRank if opts is not None else 0
        rows = rows_of(tensors)
        return self._begin(self._call.broadcast, (rows, root), tensors, opts, _size(rows))

    def allreduce(self, tensors: Tensors, opts: Any = None) -> CollectiveWork:
        how = Reduction.of(opts.reduceOp if opts is not None else dist.ReduceOp.SUM, tensors)
        rows = rows_of(tensors)
        return self._begin(self._call.allreduce, (rows, how), tensors, opts, _size(rows), how.name)

    allreduce_coalesced = allreduce

    def reduce(self, tensors: Tensors, opts: Any) -> CollectiveWork:
        how, (row,) = Reduction.of(opts.reduceOp, tensors), rows_of(tensors)
        args = row, opts.rootRank, how
        return self._begin(self._call.reduce, args, tensors, opts, row.nbytes, how.name)

    def barrier(self, opts: Any = None) -> CollectiveWork:
        return self._begin(self._call.barrier, (), [torch.ones(1)], opts)  # torch wants a tensor

    # -- chunks of it on each ---------------------------------------------------------------

    def all_gather_single(
        self, out: torch.Tensor, mine: torch.Tensor, opts: Any = None
    ) -> CollectiveWork:
        return self.all_gather_single_coalesced([out], [mine], opts)

    def all_gather_single_coalesced(
        self, outs: Tensors, ours: Tensors, opts: Any = None
    ) -> CollectiveWork:
        self._check_types("all_gather", outs, ours)
        pairs = list(zip(rows_of(outs), rows_of(ours), strict=True))
        for out, row in pairs:
            self._check("all_gather, elements of the output", len(out), self.comm.size * len(row))

        def all_gather(comm: Comm) -> None:
            for out, row in pairs:
                self._call.allgather(comm, out, row)

        return self._begin(all_gather, (), outs, opts, _size([row for _, row in pairs]))

    def allgather(
        self, outs: Sequence[Tensors], ours: Tensors, opts: Any = None
    ) -> CollectiveWork:
        rows, mine = [rows_of(out) for out in outs], rows_of(ours)
        for out, row in zip(rows, mine, strict=True):
            self._check("all_gather, tensors in the list", len(out), self.comm.size)
            self._check("all_gather, elements for this rank", len(out[self.comm.rank]), len(row))

        def all_gather(comm: Comm) -> None:
            for out, row in zip(rows, mine, strict=True):
                self._call.allgather_list(comm, out, row)

        return self._begin(all_gather, (), outs, opts)

    def allgather_coalesced(
        self, outs: Sequence[Tensors], ours: Tensors, opts: Any
    ) -> CollectiveWork:
        by_tensor = [[of_rank[i] for of_rank in outs] for i in range(len(ours))]
        return self.allgather(by_tensor, ours, opts)

    def reduce_scatter_single(
        self, out: torch.Tensor, x: torch.Tensor, opts: Any = None
    ) -> CollectiveWork:
        return self.reduce_scatter_single_coalesced([out], [x], opts)

    def reduce_scatter_single_coalesced(
        self, outs: Tensors, xs: Tensors, opts: Any
    ) -> CollectiveWork:
        how = Reduction.of(opts.reduceOp, xs)
        self._check_types("reduce_scatter", outs, xs)
        pairs = list(zip(rows_of(outs), rows_of(xs), strict=True))
        for out, row in pairs:
            self._check(
                "reduce_scatter, elements of all outputs", self.comm.size * len(out), len(row)
            )

        def reduce_scatter(comm: Comm) -> None:
            for out, row in pairs:
                self._call.reduce_scatter(comm, out, row, how)

        nbytes = _size([row for _, row in pairs])
        return self._begin(reduce_scatter, (), outs, opts, nbytes, how.name)

    def reduce_scatter(self, outs: Tensors, parts: Sequence[Tensors], opts: Any) -> CollectiveWork:
        how, (out,), (mine,) = Reduction.of(opts.reduceOp, outs), rows_of(outs), parts
        rows = rows_of(mine)
        self._check("reduce_scatter, tensors in the list", len(rows), self.comm.size)
        self._check("reduce_scatter, elements of the output", len(out), len(rows[self.comm.rank]))
        call, args = self._call.reduce_scatter_list, (out, rows, how)
        return self._begin(call, args, outs, opts, _size(rows), how.name)

    # -- from one to all, from all to one, from all to all ----------------------------------

    def gather(self, outs: Sequence[Tensors], ours: Tensors, opts: Any) -> CollectiveWork:
        rows, (mine,) = rows_of(outs[0]) if outs else [], rows_of(ours)
        for row in rows:
            self._check("gather, elements of an output", len(row), len(mine))
        return self._begin(self._call.gather, (rows, mine, opts.rootRank), outs, opts, mine.nbytes)

    def scatter(self, outs: Tensors, parts: Sequence[Tensors], opts: Any) -> CollectiveWork:
        (out,), rows = rows_of(outs), rows_of([x.contiguous() for x in parts[0]]) if parts else []
        for row in rows:
            self._check("scatter, elements of the output", len(out), len(row))
        return self._begin(self._call.scatter, (out, rows, opts.rootRank), outs, opts, out.nbytes)

    def alltoall(self, outs: Tensors, parts: Tensors, opts: Any = None) -> CollectiveWork:
        rows, mine = rows_of(outs), rows_of(parts)
        self._check("all_to_all, tensors in a list", len(rows), self.comm.size)
        self._check("all_to_all, tensors in a list", len(mine), self.comm.size)
        return self._exchange(rows, mine, outs, opts)

    def all_to_all_single(
        self, out: torch.Tensor, x: torch.Tensor, out_splits: Sequence[int],
        splits: Sequence[int], opts: Any = None,
    ) -> CollectiveWork:  # fmt: skip
        self._check_types("all_to_all", [out], [x])
        if out_splits or splits:
            outs, parts = self._parts(out, out_splits), self._parts(x, splits)
            return self._exchange(outs, parts, [out], opts)
        whole, row = row_of(out), row_of(x)
        return self._begin(self._call.alltoall, (whole, row), [out], opts, row.nbytes)

    def _exchange(self, rows: Any, mine: Any, outs: Tensors, opts: Any) -> CollectiveWork:
        own = self.comm.rank
        self._check("all_to_all, elements from itself", len(rows[own]), len(mine[own]))
        return self._begin(self._call.alltoall_list, (rows, mine), outs, opts)

    def _parts(self, x: torch.Tensor, splits: Sequence[int]) -> list[Any]:
        sizes = list(splits) or [len(x) // self.comm.size] * self.comm.size
        self._check("all_to_all, rows by the sizes of its splits", sum(sizes), len(x))
        self._check("all_to_all, splits", len(sizes), self.comm.size)
        split: Any = x.split  # without a type in torch
        return rows_of(split(sizes))

    # -- from one rank to another -----------------------------------------------------------

    def send(self, tensors: Tensors, to: int, tag: int) -> CollectiveWork:
        return CollectiveWork(self.comm.isend(row_of(tensors[0]), to, tag), tensors)

    def recv(self, tensors: Tensors, source: int, tag: int) -> CollectiveWork:
        return CollectiveWork(self.comm.irecv(row_of(tensors[0]), source, tag), tensors)

    def recv_anysource(self, tensors: Tensors, tag: int) -> CollectiveWork:
        return CollectiveWork(self.comm.irecv(row_of(tensors[0]), ANY, tag), tensors)

    # -- what torch asks of a group ---------------------------------------------------------

    def new_group(self, ranks: Sequence[int], group_name: str = "", **_: Any) -> RankGroup | None:
        """A group of these ranks, which torch asks all ranks for, or its members alone."""
        if self.comm.rank not in ranks:
            return None
        return RankGroup(self.comm.subgroup(ranks), self._call, group_name)

    def getBackendName(self) -> str:  # noqa: N802
        return "ddl_teach"

    def _set_group_name(self, name: str) -> None:
        self._name = name

    @property
    def group_name(self) -> str:
        return self._name

    def _check_types(self, what: str, outs: Tensors, ours: Tensors) -> None:
        for out, x in zip(outs, ours, strict=True):
            if out.dtype != x.dtype:
                raise TypeError(
                    f"rank {self.comm.rank}: {what} of {x.dtype} into a tensor of {out.dtype}: "
                    f"make it with dtype={x.dtype}"
                )

    def _check(self, what: str, given: int, needed: int) -> None:
        if given != needed:
            raise ValueError(
                f"rank {self.comm.rank}: {what}: {given} where {needed} are needed on "
                f"{self.comm.size} ranks: change the sizes of what this call is given"
            )


def _size(rows: Sequence[Any]) -> int:
    return sum(row.nbytes for row in rows)
