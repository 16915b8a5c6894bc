"""Convolution by the Fourier transform: a shift is a phase, so a sum over shifts is one product.

    Y[o, f] = sum over c of  X[c, f] * conj(W[o, c, f])      for each frequency f

The transform of a tile wraps round only where the kernel leaves the tile; those outputs are not
kept, and the next tile begins where the kept ones end (overlap and save). Real data need half of
the frequencies; a complex product needs three real ones (Gauss), so each frequency is three matrix
products of channels. Only kernel_height * kernel_width values of a filter are not zero, so its
transform is a product with as many columns of the Fourier matrix.

Cost of the products: 3 * frequencies * tiles * in_channels * out_channels, whatever the kernel,
with tile * (tile / 2 + 1) frequencies; 5/2 tile^2 log2(tile^2) per tile and channel for the
transforms. Mathieu, Henaff & LeCun, "Fast training of convolutional networks through FFTs", 2014.
What to look at: channels, not only the kernel's size, decide when it wins, because transforms grow
with the number of channels and products with its square.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import torch
from torch import Tensor

from ddl_teach.operators.convolution import phases
from ddl_teach.operators.convolution.blocks import block_size, blocks, evenly, window
from ddl_teach.operators.convolution.filters import by_filter, by_place
from ddl_teach.operators.convolution.problem import Convolution, Pair
from ddl_teach.operators.convolution.turned import turned
from ddl_teach.theory.convolution_tiles import transform_grid, transform_size

ROOM = 64 << 20
"""Bytes of spectra that are held at a time; those of one image may be more."""


def forward(
    x: Tensor, weight: Tensor, *, stride: Pair = (1, 1), padding: Pair = (0, 0), groups: int = 1
) -> Tensor:
    """The output of the convolution."""
    problem = Convolution.of(x, weight, stride, padding, groups)
    inner = phases.at_stride_one(problem)
    x, weight = phases.split_input(x, problem), phases.split_weight(weight, problem)
    return correlate(x, weight, inner)


def input_gradient(
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
    weight = phases.split_weight(weight, problem)
    gradient, weight, border = turned(gradient, weight, phases.at_stride_one(problem))
    result = correlate(gradient, weight, Convolution.of(gradient, weight, 1, border, groups))
    return phases.merge_input(result, problem)


def weight_gradient(
    x: Tensor,
    gradient: Tensor,
    weight_shape: Sequence[int],
    *,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    groups: int = 1,
) -> Tensor:
    """What the loss gains per weight: products of the spectra of x and of the gradient."""
    problem = Convolution.of_shapes(x.shape, weight_shape, stride, padding, groups)
    inner, x = phases.at_stride_one(problem), phases.split_input(x, problem)
    back = fourier_columns(inner, x.dtype)[1].to(x.device)
    total = back.new_zeros(prod(inner.kernel), inner.out_channels * inner.in_channels // groups)
    for images in cut(inner, x.dtype):
        seen = spectra(x[images], inner, inner.padding, transform_size(inner))
        arriving = spectra(gradient[images], inner, (0, 0), kept(inner), factor=True)
        for part in slices(inner, len(x[images]), back.dtype):
            products = seen[part].mT @ arriving[part]
            total.addmm_(back[part].flatten(0, 1).mT, products.flatten(0, 1).flatten(1))
            del products  # or they would stand beside those of the next part
        del seen, arriving
    places = total.unflatten(1, (groups, inner.in_channels // groups, -1))
    return phases.merge_weight(by_filter(places, inner), problem).to(x.dtype)


def correlate(x: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
    """The convolution at stride one."""
    there = fourier_columns(problem, x.dtype)[0].to(x.device)
    taps = by_place(weight.to(there.dtype), problem.groups)
    output = x.new_empty(problem.output_shape)
    for images in cut(problem, x.dtype):
        seen = spectra(x[images], problem, problem.padding, transform_size(problem))
        total = seen.new_empty(len(seen), *seen.shape[2:4], taps.shape[3], 2)
        for part in slices(problem, len(x[images]), there.dtype):
            filters = there[part].flatten(0, 1) @ taps.flatten(1)
            filters = filters.unflatten(1, taps.shape[1:]).unflatten(0, (-1, 3))
            one, two, three = (seen[part] @ filters).unbind(1)
            torch.sub(one, three, out=total[part, ..., 0])
            torch.sub(one, two, out=total[part, ..., 1])
            del filters, one, two, three  # or they would stand beside those of the next part
        place(torch.view_as_complex(total), output[images], problem)
        del seen, total
    return output


def spectra(
    x: Tensor, problem: Convolution, padding: Pair, size: Pair, factor: bool = False
) -> Tensor:
    """Transforms of tiles of `size`: (frequencies, 3, groups, tiles, channels of a group).

    A product (a + ib) (c - id) has the real part c (a + b) - b (c - d) and the imaginary part
    c (a + b) - a (c + d). So the three numbers of a spectrum are a + b, a, b, and as the second
    `factor` c, c + d, c - d.
    """
    (high, wide), (down, across) = transform_grid(problem), kept(problem)
    sizes = transform_size(problem)
    channels = x.shape[1] // problem.groups
    numbers = single_or_double(x.dtype)
    result = torch.empty(
        sizes[0], sizes[1] // 2 + 1, 3, problem.groups, len(x), high, wide, channels,
        dtype=numbers, device=x.device,
    )  # fmt: skip
    row_bytes = transform_bytes(problem, x.shape[1], numbers.itemsize)
    for images, rows in blocks(len(x), high, row_bytes):
        top, bottom = rows.start * down - padding[0], (rows.stop - 1) * down + size[0] - padding[0]
        right = (wide - 1) * across + size[1] - padding[1]
        part = window(x[images], top, bottom, -padding[1], right).to(numbers)
        tiles = part.unfold(2, size[0], down).unfold(3, size[1], across)
        spectrum = torch.fft.rfft2(tiles, s=sizes)
        spectrum = spectrum.unflatten(1, (problem.groups, -1)).permute(5, 6, 1, 0, 3, 4, 2)
        first, second, third = result[:, :, :, :, images, rows].unbind(2)
        if factor:
            first.copy_(spectrum.real)
            torch.add(spectrum.real, spectrum.imag, out=second)
            torch.sub(spectrum.real, spectrum.imag, out=third)
        else:
            second.copy_(spectrum.real)
            third.copy_(spectrum.imag)
            torch.add(second, third, out=first)
    return result.flatten(4, 6).flatten(0, 1)


def place(spectrum: Tensor, output: Tensor, problem: Convolution) -> None:
    """Transform back, and put the outputs that are kept of each tile to their places."""
    (high, wide), (down, across) = transform_grid(problem), kept(problem)
    sizes = transform_size(problem)
    spectrum = spectrum.unflatten(2, (-1, high, wide)).unflatten(0, (sizes[0], -1))
    row_bytes = transform_bytes(problem, output.shape[1], spectrum.dtype.itemsize // 2)
    for images, rows in blocks(len(output), high, row_bytes):
        some = spectrum[:, :, :, images, rows].permute(3, 2, 6, 4, 5, 0, 1).flatten(1, 2)
        tiles = torch.fft.irfft2(some.contiguous(), s=sizes)[..., :down, :across]
        whole = tiles.permute(0, 1, 2, 4, 3, 5).flatten(4, 5).flatten(2, 3)
        part = output[images, :, rows.start * down : rows.stop * down]
        part.copy_(whole[:, :, : part.shape[2], : part.shape[3]])


def fourier_columns(problem: Convolution, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Matrices (frequencies, 3, places of the kernel): to a filter's three numbers, and back."""
    (height, width), places = transform_size(problem), prod(problem.kernel)
    unit = torch.eye(places, dtype=torch.float64).unflatten(1, problem.kernel)
    wave = torch.fft.rfft2(unit, s=(height, width)).flatten(1).T
    real, imaginary = wave.real, wave.imag
    there = torch.stack([real, real + imaginary, real - imaginary], dim=1)
    # Of real data only half of the spectrum is kept: what stands for two frequencies counts twice.
    column = torch.arange(width // 2 + 1)
    counts = torch.where((column == 0) | (2 * column == width), 1, 2).repeat(height)
    back = torch.stack([real + imaginary, -imaginary, -real], dim=1)
    back *= counts[:, None, None] / real.new_tensor(height * width)
    return there.to(single_or_double(dtype)), back.to(single_or_double(dtype))


def kept(problem: Convolution) -> Pair:
    """Height and width of the outputs that a tile gives: where the kernel does not wrap round."""
    (height, width), (down, across) = transform_size(problem), problem.kernel
    return height - down + 1, width - across + 1


def single_or_double(dtype: torch.dtype) -> torch.dtype:
    """What the transforms of such data are computed in."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def cut(problem: Convolution, dtype: torch.dtype) -> Iterator[slice]:
    """The batch in parts whose spectra fit into the room."""
    together = evenly(problem.batch, ROOM // spectrum_bytes(problem, dtype))
    return (slice(first, first + together) for first in range(0, problem.batch, together))


def spectrum_bytes(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes of the spectra of one image and of its output: both as a product wants them."""
    height, width = transform_size(problem)
    numbers = 3 * (problem.in_channels + problem.out_channels) * prod(transform_grid(problem))
    return height * (width // 2 + 1) * numbers * single_or_double(dtype).itemsize


def transform_bytes(problem: Convolution, channels: int, itemsize: int) -> int:
    """Bytes of a row of tiles while it is transformed: copied, padded, and as a spectrum."""
    return 4 * transform_grid(problem)[1] * channels * prod(transform_size(problem)) * itemsize


def slices(problem: Convolution, images: int, dtype: torch.dtype) -> Iterator[slice]:
    """The frequencies in parts whose filters and products stay in the caches."""
    height, width = transform_size(problem)
    frequencies = height * (width // 2 + 1)
    tiles = images * prod(transform_grid(problem))
    channels = problem.out_channels * (problem.in_channels // problem.groups + tiles)
    some = evenly(frequencies, (4 << 20) // (3 * channels * dtype.itemsize))
    return (slice(first, first + some) for first in range(0, frequencies, some))


def refusal(problem: Convolution) -> str:
    """Nothing: every convolution is a product of spectra."""
    return ""


def workspace(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes beyond input, weight and output, at most, in the hungriest of the three passes."""
    inner, itemsize = phases.at_stride_one(problem), single_or_double(dtype).itemsize
    height, width = transform_size(inner)
    images = min(next(cut(inner, dtype)).stop, inner.batch)
    (high, wide), frequencies = transform_grid(inner), height * (width // 2 + 1)
    channels = max(inner.in_channels, inner.out_channels)
    weights = inner.out_channels * inner.in_channels // inner.groups
    row_bytes = transform_bytes(inner, channels, itemsize)
    together, rows = block_size(images, high, row_bytes)
    some = min(frequencies, next(slices(inner, images, single_or_double(dtype))).stop)
    return (
        images * spectrum_bytes(inner, dtype)
        + together * rows * row_bytes
        + 3 * some * (weights + images * high * wide * channels) * itemsize
        + 3 * prod(inner.kernel) * (weights * itemsize + frequencies * 40)
        + phases.workspace(problem, dtype)
    )
