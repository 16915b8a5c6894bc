"""Winograd's convolution: fewer multiplications, paid with additions and with digits.

F(m, r) gives m outputs of a filter of r values with m + r - 1 multiplications instead of m * r:

    y = A^T [(G w) * (B^T x)],   x a tile of m + r - 1 values;  in two dimensions
    Y = A^T [(G W G^T) * (B^T X B)] A,   tiles of (m + r - 1) x (m + r - 1)

The sum over channels is taken between the brackets, so that each of the (m + r - 1)^2 places of
the tile is one matrix product of channels, and all transforms are shared by many channels.

Cost of the products: out_channels * in_channels * tiles * (m + r - 1)^2, with tiles = batch *
ceil(height / m) * ceil(width / m): for 3 x 3 kernels 2.25 times fewer than the definition with
m = 2, 4 times fewer with m = 4. Lavin & Gray, "Fast algorithms for convolutional neural networks",
2016. What to look at: the larger the tile, the fewer multiplications, and the larger the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from ddl_teach.operators.convolution.problem import Convolution, Pair
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
        problem = Convolution.of(x, weight, stride, padding, groups)
        return self.correlate(x, weight, problem)

    def correlate(self, x: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
        """Slide the weight over x at stride one."""
        data, kernel, output = self.transforms(problem, x)
        tiles = self.tiles(x, problem)
        seen = torch.einsum("ai,bj,ngctuij->abgcntu", data[0], data[1], tiles)
        filters = weight.unflatten(0, (problem.groups, -1))
        filters = torch.einsum("ai,bj,gocij->abgoc", kernel[0], kernel[1], filters)
        total = torch.einsum("abgoc,abgcntu->abgontu", filters, seen)
        total = torch.einsum("ia,jb,abgontu->ngotiuj", output[0], output[1], total)
        whole = total.reshape(*problem.output_shape[:2], tiles.shape[3] * self.outputs, -1)
        return whole[:, :, : problem.output_height, : problem.output_width]

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
        """What the loss gains per input value: the gradient under the kernel turned round."""
        problem = Convolution.of_shapes(x_shape, weight.shape, stride, padding, groups)
        turned = weight.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1).flip(2, 3)
        border = [size - 1 - space for size, space in zip(problem.kernel, padding, strict=True)]
        padded = pad(gradient, (border[1], border[1], border[0], border[0]))
        return self.correlate(padded, turned, Convolution.of(padded, turned, groups=groups))

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
        """What the loss gains per weight: the transforms of the forward pass, transposed."""
        problem = Convolution.of_shapes(x.shape, weight_shape, stride, padding, groups)
        data, kernel, output = self.transforms(problem, x)
        tiles = self.tiles(x, problem)
        seen = torch.einsum("ai,bj,ngctuij->abgcntu", data[0], data[1], tiles)
        high, wide = tiles.shape[3:5]
        below = high * self.outputs - problem.output_height
        right = wide * self.outputs - problem.output_width
        blocks = pad(gradient, (0, right, 0, below))
        blocks = blocks.unflatten(3, (wide, -1)).unflatten(2, (high, -1))
        blocks = blocks.unflatten(1, (groups, -1))
        blocks = torch.einsum("ia,jb,ngotiuj->abgontu", output[0], output[1], blocks)
        total = torch.einsum("abgontu,abgcntu->abgoc", blocks, seen)
        return torch.einsum("ai,bj,abgoc->gocij", kernel[0], kernel[1], total).flatten(0, 1)

    def transforms(self, problem: Convolution, like: Tensor) -> list[tuple[Tensor, Tensor]]:
        """B^T, G and A^T, each for the height and for the width."""
        both = [matrices(self.outputs, size) for size in problem.kernel]
        return [
            tuple(torch.tensor(matrix.astype(float), dtype=like.dtype, device=like.device)
                  for matrix in pair)
            for pair in zip(*both, strict=True)
        ]  # fmt: skip

    def tiles(self, x: Tensor, problem: Convolution) -> Tensor:
        """The input in overlapping tiles: (batch, groups, channels, high, wide, tile, tile)."""
        sizes = [self.outputs + size - 1 for size in problem.kernel]
        high = -(-problem.output_height // self.outputs)
        wide = -(-problem.output_width // self.outputs)
        below = high * self.outputs + problem.kernel[0] - 1 - problem.height - problem.padding[0]
        right = wide * self.outputs + problem.kernel[1] - 1 - problem.width - problem.padding[1]
        padded = pad(x, (problem.padding[1], right, problem.padding[0], below))
        tiles = padded.unfold(2, sizes[0], self.outputs).unfold(3, sizes[1], self.outputs)
        return tiles.unflatten(1, (problem.groups, -1))

    def refusal(self, problem: Convolution) -> str:
        """Why this convolution cannot be done this way, or nothing."""
        if problem.stride != (1, 1):
            return (
                f"stride={problem.stride}: Winograd's tile gives neighbouring outputs, and of "
                "those a stride throws most away; stride must be 1"
            )
        return ""

    def workspace(self, problem: Convolution, dtype: torch.dtype) -> int:
        """Bytes beyond input, weight and output."""
        return 0
