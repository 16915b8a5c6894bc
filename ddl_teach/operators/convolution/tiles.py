"""Images cut into overlapping tiles, and results put together from tiles that do not overlap.

The channels stand innermost. So the matrix of one place in the tile, over all tiles and channels,
is one piece of memory, as products want it. Only two copies reorder the channels, into the tiles
and back into the image. They are the cost of tiles.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from ddl_teach.operators.convolution.blocks import block_size, blocks, room
from ddl_teach.theory.convolution_sizes import Convolution, Pair


@dataclass(frozen=True)
class Tiling:
    """How a convolution at stride one is cut into tiles: `grid` of them, each of `steps` outputs.
    While channels are summed, a tile takes `numbers` of type `dtype` for each channel."""

    problem: Convolution
    grid: Pair
    steps: Pair
    numbers: int
    dtype: torch.dtype

    def tiles(self, images: Tensor, rows: slice, sizes: Pair, padding: Pair = (0, 0)) -> Tensor:
        """These rows of tiles, which begin every `steps` pixels and have `sizes` of them: a view
        (height, width of a tile, groups, images, rows, columns of tiles, channels); zeros outside.
        """
        count, channels, height, width = images.shape
        top, left = rows.start * self.steps[0] - padding[0], -padding[1]
        high = (rows.stop - rows.start - 1) * self.steps[0] + sizes[0]
        wide = (self.grid[1] - 1) * self.steps[1] + sizes[1]
        whole = images.new_zeros(count, high, wide, channels, dtype=self.dtype)
        first, last = max(top, 0), min(top + high, height)
        stop = min(left + wide, width)
        inside = images[:, :, first : max(first, last), :stop].permute(0, 2, 3, 1)
        whole[:, first - top : max(first, last) - top, -left : stop - left] = inside
        apart = whole.unflatten(3, (self.problem.groups, -1)).unfold(1, sizes[0], self.steps[0])
        return apart.unfold(2, sizes[1], self.steps[1]).permute(5, 6, 3, 0, 1, 2, 4)

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        return blocks(self.problem.batch, self.grid[0], self.row_bytes, room(self.filter_bytes))

    def in_a_block(self) -> int:
        """How many rows of tiles, of all its images, the largest block has."""
        needed = room(self.filter_bytes)
        return prod(block_size(self.problem.batch, self.grid[0], self.row_bytes, needed))

    @property
    def filter_bytes(self) -> int:
        return self.numbers * prod(self.problem.weight_shape[:2]) * self.dtype.itemsize

    @property
    def row_bytes(self) -> int:
        """Bytes of the inputs and results of one row of tiles, as they are multiplied."""
        channels = self.problem.in_channels + self.problem.out_channels
        return self.numbers * self.grid[1] * channels * self.dtype.itemsize


def assemble(tiles: Tensor, output: Tensor, top: int) -> None:
    """Put results (height, width, groups, images, rows, wide, channels) to the output's row `top`;
    what hangs over the edge is dropped."""
    whole = tiles.permute(3, 4, 0, 5, 1, 2, 6).flatten(5, 6).flatten(3, 4).flatten(1, 2)
    part = output[:, :, top : top + whole.shape[1]]
    for image, result in zip(part, whole[:, : part.shape[2], : part.shape[3]], strict=True):
        # Of two axes torch turns a block at a time, of more it would go through memory in steps.
        image.copy_(result.flatten(0, 1).T.contiguous().view(image.shape))
