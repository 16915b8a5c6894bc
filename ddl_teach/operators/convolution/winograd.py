"""Winograd's convolution: fewer multiplications, paid with additions and with digits.

F(m, r) gives m outputs of a filter of r values with m + r - 1 multiplications instead of m * r:

    y = A^T [(G w) * (B^T x)],   x a tile of m + r - 1 values;  in two dimensions
    Y = A^T [(G W G^T) * (B^T X B)] A,   tiles of (m + r - 1) x (m + r - 1)

The sum over channels is taken between the brackets, so that each of the (m + r - 1)^2 places of
the tile is one matrix product of channels, and a transform is shared by all that use its result.

Cost of the products: out_channels * in_channels * tiles * (m + r - 1)^2, with tiles = batch *
ceil(height / m) * ceil(width / m): for 3 x 3 kernels 2.25 times fewer than the definition with
m = 2, 4 times fewer with m = 4. Lavin & Gray, "Fast algorithms for convolutional neural networks",
2016. What to look at: the larger the tile, the fewer multiplications, and the larger the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from ddl_teach.operators.convolution.blocks import block_size, blocks, window
from ddl_teach.operators.convolution.filters import by_filter, by_place
from ddl_teach.operators.convolution.problem import Convolution, Pair
from ddl_teach.operators.convolution.turned import turned
from ddl_teach.operators.convolution.winograd_matrices import matrices


@dataclass(frozen=True)
class Winograd:
    """Winograd's convolution with `outputs` x `outputs` outputs per tile: F(m x m, r x r)."""

    outputs: int

    def forward(
        self,
        x: Tensor,
        weight: Tensor,
        *,
        stride: Pair = (1, 1),
        padding: Pair = (0, 0),
        groups: int = 1,
    ) -> Tensor:
        """The output of the convolution."""
        problem = self.accepted(Convolution.of(x, weight, stride, padding, groups))
        data, kernel, result = self.transforms(problem, x)
        overlap = problem.kernel[0] - 1, problem.kernel[1] - 1
        filters = transform(kernel, by_place(weight, groups))
        output = x.new_empty(problem.output_shape)
        for images, rows in self.cut(problem, x.dtype):
            seen = transform(data, self.tiles(x[images], rows, problem, overlap, padding))
            tiles = transform(result, seen @ filters)
            del seen  # or it would stand beside that of the next block
            self.assemble(tiles, output[images], rows, problem)
            del tiles
        return output

    def input_gradient(
        self,
        gradient: Tensor,
        weight: Tensor,
        x_shape: Sequence[int],
        *,
        stride: Pair = (1, 1),
        padding: Pair = (0, 0),
        groups: int = 1,
    ) -> Tensor:
        """What the loss gains per input value: a convolution of what it gains per output."""
        problem = Convolution.of_shapes(x_shape, weight.shape, stride, padding, groups)
        gradient, weight, padding = turned(gradient, weight, self.accepted(problem))
        return self.forward(gradient, weight, padding=padding, groups=groups)

    def weight_gradient(
        self,
        x: Tensor,
        gradient: Tensor,
        weight_shape: Sequence[int],
        *,
        stride: Pair = (1, 1),
        padding: Pair = (0, 0),
        groups: int = 1,
    ) -> Tensor:
        """What the loss gains per weight: the transposed transforms of the filter and result."""
        problem = Convolution.of_shapes(x.shape, weight_shape, stride, padding, groups)
        data, kernel, result = self.transforms(self.accepted(problem), x)
        overlap = problem.kernel[0] - 1, problem.kernel[1] - 1
        total = 0.0
        for images, rows in self.cut(problem, x.dtype):
            seen = transform(data, self.tiles(x[images], rows, problem, overlap, padding))
            arriving = transform(
                result.mT, self.tiles(gradient[images], rows, problem, (0, 0), (0, 0))
            )
            total += seen.mT @ arriving
            del seen, arriving  # or they would stand beside those of the next block
        return by_filter(transform(kernel.mT, total), problem)

    def transforms(self, problem: Convolution, like: Tensor) -> list[Tensor]:
        """B^T, G and A^T, each for both axes of a tile at once: their Kronecker products."""
        axes = [matrices(self.outputs, size) for size in problem.kernel]
        return [
            torch.kron(*(torch.tensor(one.astype(float)) for one in both)).to(like)
            for both in zip(*axes, strict=True)
        ]

    def tiles(
        self, images: Tensor, rows: slice, problem: Convolution, overlap: Pair, padding: Pair
    ) -> Tensor:
        """These rows of tiles: (places in a tile, groups, tiles, channels of a group).

        A tile begins every m values and has m + overlap of them, in each direction.
        """
        wide = self.grid(problem)[1]
        top, bottom = rows.start * self.outputs, rows.stop * self.outputs + overlap[0]
        right = wide * self.outputs + overlap[1]
        part = window(
            images, top - padding[0], bottom - padding[0], -padding[1], right - padding[1]
        )
        # With the channels innermost, whatever is copied from here on is long and in order.
        last = part.permute(0, 2, 3, 1).contiguous().unflatten(3, (problem.groups, -1))
        for axis in (0, 1):
            last = last.unfold(axis + 1, self.outputs + overlap[axis], self.outputs)
        places = last.permute(5, 6, 3, 0, 1, 2, 4)
        return places.flatten(0, 1).flatten(2, 4)

    def assemble(self, tiles: Tensor, output: Tensor, rows: slice, problem: Convolution) -> None:
        """Put tiles of results to their places; what hangs over the edge is dropped."""
        size, (_, wide) = self.outputs, self.grid(problem)
        tiles = tiles.unflatten(2, (len(output), -1, wide)).unflatten(0, (size, size))
        whole = tiles.permute(3, 4, 0, 5, 1, 2, 6).flatten(5, 6).flatten(3, 4).flatten(1, 2)
        part = output[:, :, rows.start * size : rows.stop * size]
        part.copy_(whole.permute(0, 3, 1, 2)[:, :, : part.shape[2], : part.shape[3]])

    def grid(self, problem: Convolution) -> Pair:
        """Rows and columns of tiles; the last may be ragged."""
        return -(-problem.output_height // self.outputs), -(-problem.output_width // self.outputs)

    def places(self, problem: Convolution) -> int:
        """Values in a tile, which is the number of its multiplications."""
        return prod(self.outputs + size - 1 for size in problem.kernel)

    def cut(self, problem: Convolution, dtype: torch.dtype) -> Iterator[tuple[slice, slice]]:
        """The tiles in blocks of images and rows that stay in the caches."""
        return blocks(problem.batch, self.grid(problem)[0], self.row_bytes(problem, dtype))

    def row_bytes(self, problem: Convolution, dtype: torch.dtype) -> int:
        """Bytes of the transformed inputs and results of one row of tiles."""
        channels = problem.in_channels + problem.out_channels
        return self.places(problem) * self.grid(problem)[1] * channels * dtype.itemsize

    def accepted(self, problem: Convolution) -> Convolution:
        """The problem itself, unless it is refused."""
        if reason := self.refusal(problem):
            raise ValueError(reason)
        return problem

    def refusal(self, problem: Convolution) -> str:
        """Why this convolution cannot be done this way, or nothing."""
        if problem.stride != (1, 1):
            return (
                f"stride={problem.stride}: Winograd's tile gives neighbouring outputs, and of "
                "those a stride throws most away; stride must be 1"
            )
        return ""

    def workspace(self, problem: Convolution, dtype: torch.dtype) -> int:
        """Bytes beyond input, weight and output, at most, in the hungriest of the three passes."""
        high, wide = self.grid(problem)
        images, rows = block_size(problem.batch, high, self.row_bytes(problem, dtype))
        tiles, places = images * rows * wide, self.places(problem)
        weights = problem.out_channels * problem.in_channels // problem.groups
        filters = 2 * weights * (places + prod(problem.kernel))
        fewer, more = sorted((problem.in_channels, problem.out_channels))
        block = tiles * (2 * places * more + (fewer + 2 * more) * self.outputs**2)
        return (filters + block) * dtype.itemsize


def transform(matrix: Tensor, tiles: Tensor) -> Tensor:
    """Make each value in a tile a sum of the tile's values, for all tiles and channels alike."""
    return (matrix @ tiles.flatten(1)).unflatten(1, tiles.shape[1:])
