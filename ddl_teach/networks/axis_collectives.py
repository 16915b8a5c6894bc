"""Tensors in pieces along an axis: all of them, or one's own of the sum.

The ring of `collectives.ring`, for any axis and for pieces that differ in length:
each rank sends all pieces but one, (P-1)/P n bytes where they are equal. Patarasuk and Yuan 2009.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.theory.ring_bytes import even


def all_gather(
    comm: Comm, x: Tensor, axis: int, total: int, lengths: Sequence[int] | None = None
) -> Tensor:
    """The `x` of all ranks side by side along `axis`, `total` long; `x` is this rank's share, or
    as long as `lengths` says of each rank."""
    lengths = lengths or even(total, comm.size)
    wanted = lengths[comm.rank]
    if x.shape[axis] != wanted:
        own = f"rank {comm.rank}: x has {x.shape[axis]} of {total} along axis {axis}"
        raise ValueError(f"{own}, not its share of {wanted}: cut it with shares.own_slice")
    pieces = [x.new_empty(resized(x, axis, length)) for length in lengths]
    pieces[comm.rank] = x.detach().contiguous()
    ring.pass_round(comm, pieces)
    return torch.cat(pieces, axis)


def reduce_scatter(
    comm: Comm, x: Tensor, axis: int, lengths: Sequence[int] | None = None
) -> Tensor:
    """This rank's share along `axis` of the sum of all ranks' `x`, which are alike in shape."""
    rank, size = comm.rank, comm.size
    left, right = (rank - 1) % size, (rank + 1) % size
    cuts = list(lengths or even(x.shape[axis], size))
    pieces = [p.contiguous() for p in x.detach().split(cuts, axis)]
    total = pieces[(rank - 1) % size].clone()
    for step in range(1, size):
        # Piece r begins its journey on rank r+1 and ends it, complete, on rank r.
        incoming = (rank - step - 1) % size
        arriving = torch.empty_like(pieces[incoming])
        comm.sendrecv(total, right, arriving, left)
        total = arriving
        comm.combine(arriving, pieces[incoming], out=total)
    return total


def resized(x: Tensor, axis: int, length: int) -> list[int]:
    """The shape of `x` with another length along `axis`."""
    shape = list(x.shape)
    shape[axis] = length
    return shape
