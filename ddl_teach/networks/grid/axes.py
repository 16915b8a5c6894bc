"""A rank's place in a grid, and a communicator for each axis.

An axis' communicator has the ranks that differ from this one along that axis only. Weights are the
same along data and along context, so gradients are averaged over both at once: `replicas`. The
receiver of a message shows along which axis it went. So `sent_along` checks `theory.grids.sent`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ddl_runtime.records.ledger import Message
from ddl_teach.comm import Comm
from ddl_teach.theory.grids.grid import AXES, Grid, GridPosition


@dataclass(frozen=True)
class Axes:
    """This rank's place in the grid, and its communicator along each axis."""

    grid: Grid
    place: GridPosition
    data: Comm
    pipeline: Comm
    tensor: Comm
    context: Comm
    replicas: Comm  # along data and context


def axes_of(comm: Comm, grid: Grid) -> Axes:
    """Arrange the ranks of `comm` in a grid. All of them must call it."""
    if comm.size != grid.ranks:
        raise ValueError(f"{grid} is a grid of {grid.ranks} ranks, but there are {comm.size}")
    place = grid.place(comm.rank)

    def along(*axes: str) -> Comm:
        """The ranks that differ from this one along these axes only, in the grid's order."""
        return comm.split(grid.rank(replace(place, **dict.fromkeys(axes, 0))), comm.rank)

    each = {axis: along(axis) for axis in AXES}
    return Axes(grid, place, **each, replicas=along("data", "context"))


def sent_along(grid: Grid, rank: int, messages: Iterable[Message]) -> Counter[str | None]:
    """The bytes sent along each axis of the grid; under None those to ranks that differ along
    two."""
    along: Counter[str | None] = Counter()
    for message in messages:
        if message.bytes:
            along[grid.axis_between(rank, message.peer)] += message.bytes
    return along
