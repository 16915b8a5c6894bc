"""Ranks as a grid over an image: rows of tiles from top to bottom, columns from left to right.

A tile has neighbours in its own column of the grid (`down`) and in its own row of it (`across`).
"""

from dataclasses import dataclass

from torch import Tensor

from ddl_teach.comm import Comm
from ddl_teach.networks.shares import own_slice
from ddl_teach.theory.inputs import count


@dataclass(frozen=True)
class Tiles:
    """One rank's place in the grid."""

    everybody: Comm
    down: Comm  # the ranks of its column, from top to bottom
    across: Comm  # the ranks of its row, from left to right

    def cut(self, images: Tensor, units: tuple[int, int]) -> Tensor:
        """This rank's tile of images (batch, channels, height, width), cut between units: a unit
        becomes a single point where the tiles are put together again."""
        for axis, comm, parts in ((2, self.down, units[0]), (3, self.across, units[1])):
            length = images.shape[axis]
            if length % parts or parts < comm.size:
                equal = f"{parts} equal units for {comm.size} ranks"
                points = f"images of {length} points along axis {axis}"
                raise ValueError(f"{points} cannot be cut between {equal}: take a multiple")
            unit, mine = length // parts, own_slice(parts, comm)
            images = images.narrow(axis, unit * mine.start, unit * (mine.stop - mine.start))
        return images.contiguous()


def tiles(comm: Comm, rows: int, columns: int = 1) -> Tiles:
    """The grid in which rank r stands in row r // columns and column r % columns; all call it."""
    if count("rows", rows) * count("columns", columns) != comm.size:
        tiles = f"{rows} rows of {columns} tiles need {rows * columns} ranks"
        raise ValueError(f"rank {comm.rank}: {tiles}, but there are {comm.size}")
    row, column = divmod(comm.rank, columns)
    return Tiles(comm, comm.split(column, row), comm.split(row, column))
