"""Convolution by the Fourier transform: a shift is a phase, so a sum over shifts is one product.

    Y[o, f] = sum over c of X[c, f] * conj(W[o, c, f])      for each frequency f

A transform that holds the whole padded input wraps round only where the kernel leaves the input,
and those outputs are not kept.

Cost: transforms of every input, weight and output channel, and per frequency (half of them, as the
data are real) one complex product of channels: nothing in it grows with the kernel.
Mathieu, Henaff & LeCun, "Fast training of convolutional networks through FFTs", 2014; Vasilache et
al., 2015. What to look at: channels, not only the kernel's size, decide when it wins, because the
transforms grow with the number of channels and the products with its square.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from ddl_teach.operators.convolution.problem import Convolution, Pair


def forward(
    x: Tensor, weight: Tensor, *, stride: Pair = (1, 1), padding: Pair = (0, 0), groups: int = 1
) -> Tensor:
    """The output of the convolution."""
    problem = Convolution.of(x, weight, stride, padding, groups)
    seen = spectrum(padded(x, problem), problem).unflatten(1, (groups, -1))
    filters = spectrum(weight, problem).unflatten(0, (groups, -1))
    total = torch.einsum("ngcij,gocij->ngoij", seen, filters.conj()).flatten(1, 2)
    whole = torch.fft.irfft2(total, s=transform_size(problem))
    rows, columns = kept(problem)
    return whole[:, :, rows, columns].to(x.dtype)


def input_gradient(
    gradient: Tensor,
    weight: Tensor,
    x_shape: Sequence[int],
    *,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    groups: int = 1,
) -> Tensor:
    """What the loss gains per input value, from what it gains per output value."""
    problem = Convolution.of_shapes(x_shape, weight.shape, stride, padding, groups)
    arriving = spectrum(spread(gradient, problem), problem).unflatten(1, (groups, -1))
    filters = spectrum(weight, problem).unflatten(0, (groups, -1))
    total = torch.einsum("ngoij,gocij->ngcij", arriving, filters).flatten(1, 2)
    whole = torch.fft.irfft2(total, s=transform_size(problem))
    top, left = padding
    inside = whole[:, :, top : top + problem.height, left : left + problem.width]
    return inside.to(gradient.dtype)


def weight_gradient(
    x: Tensor,
    gradient: Tensor,
    weight_shape: Sequence[int],
    *,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    groups: int = 1,
) -> Tensor:
    """What the loss gains per weight: a sum over the batch and over all positions."""
    problem = Convolution.of_shapes(x.shape, weight_shape, stride, padding, groups)
    seen = spectrum(padded(x, problem), problem).unflatten(1, (groups, -1))
    arriving = spectrum(spread(gradient, problem), problem).unflatten(1, (groups, -1))
    total = torch.einsum("ngcij,ngoij->gocij", seen, arriving.conj()).flatten(0, 1)
    whole = torch.fft.irfft2(total, s=transform_size(problem))
    return whole[:, :, : problem.kernel[0], : problem.kernel[1]].to(x.dtype)


def padded(x: Tensor, problem: Convolution) -> Tensor:
    """The input with its border of zeros."""
    top, left = problem.padding
    return pad(x, (left, left, top, top))


def spread(gradient: Tensor, problem: Convolution) -> Tensor:
    """The gradient at the places of the outputs at stride one, zeros between."""
    rows, columns = kept(problem)
    whole = gradient.new_zeros(*gradient.shape[:2], rows.stop, columns.stop)
    whole[:, :, rows, columns] = gradient
    return whole


def kept(problem: Convolution) -> tuple[slice, slice]:
    """Which outputs at stride one the stride keeps."""
    down, across = problem.stride
    return (
        slice(0, (problem.output_height - 1) * down + 1, down),
        slice(0, (problem.output_width - 1) * across + 1, across),
    )


def spectrum(data: Tensor, problem: Convolution) -> Tensor:
    """The Fourier transform of the last two axes; half precision is taken to single first."""
    wide = data.float() if data.dtype.itemsize < 4 else data
    return torch.fft.rfft2(wide, s=transform_size(problem))


def transform_size(problem: Convolution) -> Pair:
    """Height and width of the transform: the next sizes whose only primes are 2, 3 and 5."""
    return smooth(problem.padded[0]), smooth(problem.padded[1])


def smooth(least: int) -> int:
    """The smallest number from `least` on without a prime factor above 5."""
    size = least
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


def refusal(problem: Convolution) -> str:
    """Nothing: every convolution is a product of spectra."""
    return ""


def workspace(problem: Convolution, dtype: torch.dtype) -> int:
    """Bytes beyond input, weight and output."""
    height, width = transform_size(problem)
    channels = problem.batch * (problem.in_channels + problem.out_channels)
    filters = problem.out_channels * problem.in_channels // problem.groups
    return 2 * (channels + filters) * height * (width // 2 + 1) * 2 * max(4, dtype.itemsize)
