"""Halo exchange: a tile gets the edges of its neighbours, and gives back their gradients.

Forwards each rank sends its last rows to the next one and its first rows to the one before. It
puts what comes around its own; at the border of the image there is a fill, as padding. Backwards
the gradients of foreign rows go home and are added there. Bytes: `theory.halo`. Dryden et al.,
"Improving strong-scaling of CNN training by exploiting finer-grained parallelism", IPDPS 2019.
What to look at: rows first, then columns of the longer tile, and the corners travel by themselves,
in two hops. And what `begin` begins forwards, `around` begins backwards.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from ddl_teach.comm import Comm, Request
from ddl_teach.networks.axis_collectives import resized


def with_halo(
    comm: Comm, x: Tensor, axis: int, before: int, after: int, fill: float = 0.0
) -> Tensor:
    """`x` with `before` points of the rank before it and `after` points of the next, on `axis`."""
    halo = Halo(comm, axis, before, after, fill)
    return halo.around(halo.begin(x))


class Halo:
    """The edges of one tile along one axis, on their way: `begin`, compute something, and put them
    `around`. Backwards autograd goes through both in the opposite order."""

    def __init__(self, comm: Comm, axis: int, before: int, after: int, fill: float = 0.0) -> None:
        self.comm, self.axis, self.before, self.after, self.fill = comm, axis, before, after, fill
        self.requests: list[Request] = []
        self.rooms: tuple[Tensor, Tensor]

    def begin(self, x: Tensor) -> Tensor:
        """Send the edges of `x` and ask for the neighbours'; go on with what this returns."""
        rank, size = self.comm.rank, self.comm.size
        needed = max(self.before if rank + 1 < size else 0, self.after if rank > 0 else 0)
        if x.shape[self.axis] < needed:
            raise ValueError(
                f"rank {rank}: a neighbour needs {needed} points along axis {self.axis}, and its "
                f"tile has {x.shape[self.axis]}: no halo may reach beyond the next rank. Cut "
                "fewer tiles."
            )
        return _Begin.apply(self, x)

    def around(self, x: Tensor) -> Tensor:
        """`x`, which is what `begin` returned, between the neighbours' points; waits for them."""
        if self.before == self.after == 0:
            return x
        before, after = _Arrive.apply(self, x)
        return torch.cat([before, x, after], self.axis)

    def swap(self, to_before: Tensor, to_after: Tensor, rooms: tuple[Tensor, Tensor]) -> None:
        """Begin to send to both neighbours, and to receive from both into `rooms`."""
        self.rooms = rooms
        neighbours = self.comm.rank - 1, self.comm.rank + 1
        for neighbour, edge, room in zip(neighbours, (to_before, to_after), rooms, strict=True):
            if 0 <= neighbour < self.comm.size:
                if room.numel():
                    self.requests.append(self.comm.irecv(room, neighbour))
                if edge.numel():
                    self.requests.append(self.comm.isend(edge.contiguous(), neighbour))

    def arrived(self) -> tuple[Tensor, Tensor]:
        while self.requests:
            self.requests.pop().wait()
        return self.rooms


class _Begin(Function):
    @staticmethod
    def forward(ctx: Any, halo: Halo, x: Tensor) -> Tensor:
        ctx.halo, length = halo, x.shape[halo.axis]
        first = x.narrow(halo.axis, 0, min(halo.after, length))
        last = x.narrow(halo.axis, max(length - halo.before, 0), min(halo.before, length))
        shapes = (resized(x, halo.axis, points) for points in (halo.before, halo.after))
        halo.swap(first, last, tuple(x.new_full(shape, halo.fill) for shape in shapes))
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        halo, own = ctx.halo, gradient.clone()
        of_first, of_last = halo.arrived()
        if halo.comm.rank > 0:
            own.narrow(halo.axis, 0, halo.after).add_(of_first)
        if halo.comm.rank + 1 < halo.comm.size:
            length = own.shape[halo.axis]
            own.narrow(halo.axis, length - halo.before, halo.before).add_(of_last)
        return None, own


class _Arrive(Function):
    @staticmethod
    def forward(ctx: Any, halo: Halo, x: Tensor) -> tuple[Tensor, Tensor]:
        ctx.halo = halo
        return halo.arrived()

    @staticmethod
    def backward(ctx: Any, of_before: Tensor, of_after: Tensor) -> tuple[Any, ...]:
        halo = ctx.halo
        shapes = (resized(of_before, halo.axis, points) for points in (halo.after, halo.before))
        halo.swap(of_before, of_after, tuple(map(of_before.new_zeros, shapes)))
        return None, None
