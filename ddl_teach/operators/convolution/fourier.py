"""Fourier's matrices for the tiles of a convolution, in real numbers.

The spectrum of a tile is taken by its columns and then by its rows; of real numbers half of the
columns' frequencies say everything. A complex product is three real ones (Gauss): of a + ib and
c - id

    real part c (a + b) - b (c - d),   imaginary part c (a + b) - a (c + d)

so a spectrum is three real numbers: a + b, a, b of the data, and c, c + d, c - d of the factor.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ddl_teach.theory.convolution_sizes import Pair


@dataclass(frozen=True)
class Fourier:
    """Transforms of tiles of `sizes` in numbers of type `dtype` on `device`. Frequencies stand in
    the order of the columns' and, within those, of the rows'."""

    sizes: Pair
    dtype: torch.dtype
    device: torch.device

    def spectra(self, tiles: Tensor, *, factor: bool = False) -> Tensor:
        """Three numbers of each frequency: (frequencies, 3, ...) of tiles (height, width, ...),
        which end in zeros where they are smaller than `sizes`."""
        high, wide = tiles.shape[:2]
        rows = self.factor_rows if factor else self.rows
        rows = rows[:, :, :high].flatten(1)
        lines = self.columns[:, :wide] @ tiles.transpose(0, 1).reshape(wide, -1)
        whole = rows @ lines.view(len(lines) // 2, 2 * high, -1)
        return whole.view(-1, 3, *tiles.shape[2:])

    def tiles(self, products: Tensor, kept: Pair) -> Tensor:
        """The first `kept` rows and columns of tiles whose spectra are these products."""
        rows, columns = self.rows_back[:, : kept[0]].flatten(0, 1), self.columns_back[: kept[1]]
        lines = rows @ products.view(columns.shape[1] // 2, rows.shape[1], -1)
        whole = columns @ lines.view(columns.shape[1], -1)
        return whole.view(*kept[::-1], *products.shape[2:]).transpose(0, 1)

    def kernels(self, kernel: Pair) -> Tensor:
        """All at once for few pixels: (frequencies, 3, places of a kernel), as a factor."""
        angles = self._angles_of(kernel)
        return self._numbers(_as_factor(angles.cos(), -angles.sin()))

    def kernels_back(self, kernel: Pair) -> Tensor:
        """From three products of each frequency back to few pixels: the same axes."""
        angles = self._angles_of(kernel)
        cos, sin = angles.cos(), angles.sin()
        counts = self._counts.repeat_interleave(self.sizes[0])[:, None, None]
        return self._numbers(counts * torch.stack([cos - sin, sin, -cos], dim=1))

    @cached_property
    def columns(self) -> Tensor:
        """(frequency and its real and imaginary part) x (column of a tile)."""
        angles = _angles(self.sizes[1] // 2 + 1, self.sizes[1], self.sizes[1])
        return self._numbers(torch.stack([angles.cos(), -angles.sin()], dim=1).flatten(0, 1))

    @cached_property
    def rows(self) -> Tensor:
        """(frequency and its three numbers) x (real and imaginary part) x (row of a tile)."""
        real, imaginary = self._parts
        return self._numbers(torch.stack([real + imaginary, real, imaginary], 1).flatten(0, 1))

    @cached_property
    def factor_rows(self) -> Tensor:
        return self._numbers(_as_factor(*self._parts).flatten(0, 1))

    @cached_property
    def rows_back(self) -> Tensor:
        """(real and imaginary part) x (row of a tile) x (frequency and its three products)."""
        real, imaginary = (part.transpose(0, 1) for part in self._parts)
        three = [real + imaginary, -imaginary, -real]
        return self._numbers(torch.stack(three, dim=3).flatten(2))

    @cached_property
    def columns_back(self) -> Tensor:
        """(column of a tile) x (frequency and its real and imaginary part)."""
        angles = _angles(self.sizes[1], self.sizes[1] // 2 + 1, self.sizes[1])
        both = torch.stack([angles.cos(), -angles.sin()], dim=2)
        return self._numbers((both * self._counts[:, None]).flatten(1))

    @property
    def _parts(self) -> tuple[Tensor, Tensor]:
        """What the real and the imaginary part of a row each add to a frequency's two parts."""
        angles = _angles(self.sizes[0], self.sizes[0], self.sizes[0])
        real = torch.stack([angles.cos(), angles.sin()], dim=1)
        return real, torch.stack([-angles.sin(), angles.cos()], dim=1)

    @property
    def _counts(self) -> Tensor:
        """For each column, how many frequencies it stands for, divided by the number of pixels."""
        column = torch.arange(self.sizes[1] // 2 + 1)
        alone = (column == 0) | (2 * column == self.sizes[1])
        return torch.where(alone, 1.0, 2.0).double() / math.prod(self.sizes)

    def _angles_of(self, kernel: Pair) -> Tensor:
        across = _angles(self.sizes[1] // 2 + 1, kernel[1], self.sizes[1])
        down = _angles(self.sizes[0], kernel[0], self.sizes[0])
        return (across[:, None, None, :] + down[None, :, :, None]).flatten(2).flatten(0, 1)

    def _numbers(self, matrix: Tensor) -> Tensor:
        return matrix.to(self.device, self.dtype)


def _angles(first: int, second: int, size: int) -> Tensor:
    """2 pi / size times the product of two indices."""
    indices = (torch.arange(count, dtype=torch.float64) for count in (first, second))
    return torch.outer(*indices) * (2 * math.pi / size)


def _as_factor(real: Tensor, imaginary: Tensor) -> Tensor:
    """The three numbers c, c + d, c - d of a second factor, on axis 1."""
    return torch.stack([real, real + imaginary, real - imaginary], dim=1)
