"""Halo exchange: a tile gets the edges of its neighbours, and gives back their gradients.

Forwards each rank sends its last rows to the next one and its first rows to the one before, and
puts what comes around its own; at the border of the image there is a fill, as padding would be.
Backwards the gradients of foreign rows go home to their owners, who add them to their own. The
bytes stand in `theory.halo`. Dryden et al., "Improving strong-scaling of CNN training by
exploiting finer-grained parallelism", IPDPS 2019.
What to look at: rows first, then columns of the longer tile, and the corners travel by themselves,
in two hops.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from ddl_teach.comm import Comm
from ddl_teach.networks.pieces import resized


def with_halo(
    comm: Comm, x: Tensor, axis: int, before: int, after: int, fill: float = 0.0
) -> Tensor:
    """`x` with `before` points of the rank before it and `after` points of the next, on `axis`."""
    if before == after == 0:
        return x
    needed = max(before if comm.rank + 1 < comm.size else 0, after if comm.rank > 0 else 0)
    if x.shape[axis] < needed:
        raise ValueError(
            f"rank {comm.rank}: its tile has {x.shape[axis]} points along axis {axis}, and a "
            f"neighbour needs {needed} of them: a halo may not reach beyond the next rank. Cut "
            "the images into fewer tiles along this axis."
        )
    return _WithHalo.apply(comm, x, axis, before, after, fill)


class _WithHalo(Function):
    @staticmethod
    def forward(
        ctx: Any, comm: Comm, x: Tensor, axis: int, before: int, after: int, fill: float
    ) -> Tensor:
        ctx.comm, ctx.axis, ctx.before, ctx.after = comm, axis, before, after
        length = x.shape[axis]
        halo_before, halo_after = (
            x.new_full(resized(x, axis, points), fill) for points in (before, after)
        )
        swap_edges(
            comm,
            to_before=x.narrow(axis, 0, min(after, length)),
            to_after=x.narrow(axis, max(length - before, 0), min(before, length)),
            from_before=halo_before,
            from_after=halo_after,
        )
        return torch.cat([halo_before, x, halo_after], axis)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        comm, axis, before, after = ctx.comm, ctx.axis, ctx.before, ctx.after
        length = gradient.shape[axis] - before - after
        own = gradient.narrow(axis, before, length).clone()
        of_first, of_last = (
            gradient.new_zeros(resized(gradient, axis, points)) for points in (after, before)
        )
        swap_edges(
            comm,
            to_before=gradient.narrow(axis, 0, before),
            to_after=gradient.narrow(axis, before + length, after),
            from_before=of_first,
            from_after=of_last,
        )
        if comm.rank > 0:
            own.narrow(axis, 0, after).add_(of_first)
        if comm.rank + 1 < comm.size:
            own.narrow(axis, length - before, before).add_(of_last)
        return None, own, None, None, None, None


def swap_edges(
    comm: Comm, *, to_before: Tensor, to_after: Tensor, from_before: Tensor, from_after: Tensor
) -> None:
    """Send to both neighbours and receive from both, where there are any and anything to send."""
    requests = []
    for neighbour, edge, room in (
        (comm.rank - 1, to_before, from_before),
        (comm.rank + 1, to_after, from_after),
    ):
        if 0 <= neighbour < comm.size:
            if room.numel():
                requests.append(comm.irecv(room, neighbour))
            if edge.numel():
                requests.append(comm.isend(edge.contiguous(), neighbour))
    for request in requests:
        request.wait()
