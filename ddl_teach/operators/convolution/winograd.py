"""Winograd's convolution: fewer multiplications, paid with additions and with digits.

F(m, r) gives m outputs of a filter of r values with m + r - 1 multiplications instead of m * r:

    y = A^T [(G w) * (B^T x)],   x a tile of m + r - 1 values;  in two dimensions
    Y = A^T [(G W G^T) * (B^T X B)] A,   tiles of (m + r - 1) x (m + r - 1)

The sum over channels is taken between the brackets: each of the (m + r - 1)^2 places of the tile
is one matrix product of channels. A transform is shared by all that use its result.

Cost of the products: out_channels * in_channels * tiles * (m + r - 1)^2, with tiles = batch *
ceil(height / m) * ceil(width / m): for 3 x 3 kernels 2.25 times fewer than the definition with
m = 2, 4 times fewer with m = 4. Lavin & Gray, "Fast algorithms for convolutional neural networks",
2016. What to look at: the larger the tile, the larger the error; at last the tile is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

import torch
from torch import Tensor

from ddl_teach.operators.convolution.filters import by_filter, by_place, turned
from ddl_teach.operators.convolution.tiles import Tiling, assemble
from ddl_teach.operators.convolution.winograd_matrices import matrices
from ddl_teach.theory.convolution_sizes import Convolution, Pair
from ddl_teach.theory.convolution_tiles import tile_grid

LARGEST_TILE: Mapping[torch.dtype, int] = MappingProxyType(
    {torch.float16: 8, torch.bfloat16: 8, torch.float32: 13, torch.float64: 24}
)
"""Beyond these sizes of a tile, outputs + kernel - 1, whatever the kernel, a tenth of the result
and more is error, or float16 overflows: `benchmarks.convolution_errors` measures it."""


@dataclass(frozen=True)
class Winograd:
    """Winograd's convolution with `outputs` x `outputs` outputs per tile: F(m x m, r x r)."""

    outputs: int
    largest: Mapping[torch.dtype, int] = field(default_factory=lambda: LARGEST_TILE, compare=False)

    def forward(self, x: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
        data, kernel, result = self.transforms(problem, x)
        cut, size = self.tiling(problem, x.dtype), self.size(problem)
        filters = transform(kernel, by_place(weight, problem.groups)[:, None])
        output = x.new_empty(problem.output_shape)
        for images, rows in cut.blocks():
            seen = transform(data, cut.tiles(x[images], rows, size, problem.padding))
            products = seen.flatten(2, 4) @ filters
            tiles = (result @ products.flatten(1)).view(*cut.steps, *seen.shape[1:5], -1)
            del seen, products  # or they would stand beside those of the next block
            assemble(tiles, output[images], rows.start * self.outputs)
            del tiles
        return output

    def input_gradient(self, gradient: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
        return self.forward(*turned(gradient, weight, problem))

    def weight_gradient(self, x: Tensor, gradient: Tensor, problem: Convolution) -> Tensor:
        # The transposed transforms of the filter and the result.
        data, kernel, result = self.transforms(problem, x)
        cut, size = self.tiling(problem, x.dtype), self.size(problem)
        total = 0.0
        for images, rows in cut.blocks():
            seen = transform(data, cut.tiles(x[images], rows, size, problem.padding))
            arriving = transform(result.mT, cut.tiles(gradient[images], rows, cut.steps))
            total += seen.flatten(2, 4).mT @ arriving.flatten(2, 4)
            del seen, arriving  # or they would stand beside those of the next block
        return by_filter(transform(kernel.mT, total[:, None]), problem)

    def transforms(self, problem: Convolution, like: Tensor) -> list[Tensor]:
        """B^T, G and A^T, each for both axes of a tile at once: their Kronecker products."""
        axes = [matrices(self.outputs, size) for size in problem.kernel]
        tensors = [[torch.tensor(matrix.astype(float)) for matrix in of_axis] for of_axis in axes]
        return [torch.kron(*both).to(like) for both in zip(*tensors, strict=True)]

    def size(self, problem: Convolution) -> Pair:
        """Height and width of a tile; their product is the number of its multiplications."""
        return self.outputs + problem.kernel[0] - 1, self.outputs + problem.kernel[1] - 1

    def tiling(self, problem: Convolution, dtype: torch.dtype) -> Tiling:
        """Tiles of as many outputs as the method has; the last ones may be ragged."""
        own, numbers = (self.outputs, self.outputs), prod(self.size(problem))
        return Tiling(problem, tile_grid(problem, self.outputs), own, numbers, dtype)

    def refusal(self, problem: Convolution, dtype: torch.dtype = torch.float32) -> str:
        """Why this convolution cannot be done this way, or nothing."""
        if problem.stride != (1, 1):
            lost = "Winograd's tile gives neighbours, of which a stride throws most away"
            return f"stride={problem.stride}: {lost}; stride must be 1"
        tile, most = max(self.size(problem)), self.largest[dtype]
        if tile > most:
            name, outputs = str(dtype).removeprefix("torch."), most + 1 - max(problem.kernel)
            instead = f"and kernel={problem.kernel} fits into none; take another method"
            if outputs > 0:
                instead = f"winograd_{outputs}x{outputs} for kernel={problem.kernel}"
            lost = f"in which a tile of {tile} x {tile} values leaves no digit that can be trusted"
            largest = f"the largest that does is of {most} x {most}"
            return f"x and weight are of {name}, {lost}: {largest}, {instead}"
        return ""

    def workspace(self, problem: Convolution, dtype: torch.dtype) -> int:
        cut = self.tiling(problem, dtype)
        filters = 2 * cut.filter_bytes + prod(problem.weight_shape) * dtype.itemsize
        fewer, more = sorted((problem.in_channels, problem.out_channels))
        of_tile = 2 * cut.numbers * more + (fewer + 2 * more) * self.outputs**2
        return filters + cut.in_a_block() * cut.grid[1] * of_tile * dtype.itemsize


def transform(matrix: Tensor, tiles: Tensor) -> Tensor:
    """Make each value in a tile a sum of the tile's values, for all tiles and channels alike."""
    return (matrix @ tiles.reshape(matrix.shape[1], -1)).view(-1, *tiles.shape[2:])
