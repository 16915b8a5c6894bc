"""Overlap: compute the inner part of a tile while the edges of its neighbours travel.

Windows that lie inside the tile need no neighbour. So: begin to swap rows, compute the core, put
the rows around; begin to swap columns, compute what is above and below the core, put the columns
around, compute what is left and right of it.

    +------+---------------+------+       core         while rows travel
    |      |     above     |      |       above, below while columns (and corners) travel
    |      +---------------+      |       left, right  when all is there
    | left |     core      |right |
    |      +---------------+      |       a step takes the longer of travelling and computing,
    |      |     below     |      |       not their sum: see `theory.halo.seconds`
    +------+---------------+------+

Backwards the gradients of foreign points travel home while that of the core is computed. Dryden et
al. 2019. What to look at: nothing is computed twice, but five small windows are slower than one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from ddl_teach.comm import Comm
from ddl_teach.networks.spatial.halo import Halo, with_halo


@dataclass(frozen=True)
class WindowReach:
    """How far windows reach along one axis of a tile, and how many points they need `before` and
    `after` it."""

    comm: Comm
    axis: int
    reach: int
    stride: int
    before: int
    after: int

    def padded(self, x: Tensor, fill: float) -> Tensor:
        """The tile with `fill` around it if this rank has no neighbours on this axis, else `x`."""
        if self.comm.size > 1:
            return x
        return with_halo(self.comm, x, self.axis, self.before, self.after, fill)

    def to_come(self) -> WindowReach:
        """The same windows over a tile that `padded` has returned."""
        return self if self.comm.size > 1 else replace(self, before=0, after=0)

    def places(self, x: Tensor) -> tuple[range, range, range]:
        """The outputs along the axis in three ranges: those that need the neighbour before the
        tile, those that need none, and those that need the neighbour after it."""
        length = x.shape[self.axis]
        every = (length + self.before + self.after - self.reach) // self.stride + 1
        first = min(-(-self.before // self.stride), every)
        last = max((length + self.before - self.reach) // self.stride + 1, first)
        return range(first), range(first, last), range(last, every)

    def points(self, x: Tensor, places: range, *, around: bool) -> Tensor:
        """What the windows at these places see of a tile, with its halo `around` it or without."""
        start = places.start * self.stride - (0 if around else self.before)
        return x.narrow(self.axis, start, (len(places) - 1) * self.stride + self.reach)


def overlapped(
    layer: Callable[[Tensor], Tensor], rows: WindowReach, columns: WindowReach, fill: float,
    x: Tensor,
) -> Tensor:  # fmt: skip
    """The output of `layer`, which must not pad, for the tile `x` with its halo."""
    pad, x = partial(columns.padded, fill=fill), rows.padded(x, fill)
    rows, columns = axes = rows.to_come(), columns.to_come()
    down, across = (Halo(side.comm, side.axis, side.before, side.after, fill) for side in axes)
    x = down.begin(x)
    near = pad(x)
    (above, inner, below), (left, middle, right) = rows.places(near), columns.places(near)

    def part(tile: Tensor, tall: range, wide: range, *, over: bool, beside: bool) -> list[Tensor]:
        """The outputs of the layer at these places. `over` and `beside` say whether `tile` has its
        halo above and below, and left and right. An empty list if there are no places."""
        if not tall or not wide:
            return []
        tile = rows.points(tile, tall, around=over)
        return [layer(columns.points(tile, wide, around=beside))]

    core = part(near, inner, middle, over=False, beside=False)
    x = across.begin(pad(down.around(x)))
    pieces = part(x, above, middle, over=True, beside=False) + core
    pieces += part(x, below, middle, over=True, beside=False)
    x, every = across.around(x), range(below.stop)
    first = part(x, every, left, over=True, beside=True)
    last = part(x, every, right, over=True, beside=True)
    return torch.cat([*first, *([torch.cat(pieces, 2)] if pieces else []), *last], 3)
