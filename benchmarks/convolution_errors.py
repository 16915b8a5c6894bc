"""The error of each convolution by the type of its numbers; Winograd's grows with its tile.

    python -m benchmarks.convolution_errors

Relative errors of the forward pass against double precision, the median of five draws of normal
inputs and weights. First the methods, beside their errors how many roundings (half a unit in the
last place) that is; then Winograd's tiles, outputs + kernel - 1, with several kernels: the tile
alone decides, as the points of its transform have powers up to the tile's size, and what they add
is subtracted again. Stars are tiles that the library refuses in such numbers. Inputs and weights
are rounded to the short numbers first, so that only the arithmetic counts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from ddl_measure.machine import describe, heading, keep
from ddl_teach.operators.convolution import direct
from ddl_teach.operators.convolution.methods import METHODS
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.winograd import LARGEST_TILE, Winograd

RESULTS = Path(__file__).parent / "results" / "convolution_errors.txt"
CHANNELS = {"batch": 1, "in_channels": 32, "height": 24, "width": 24, "out_channels": 16}
PROBLEM = Convolution(**CHANNELS, padding=(1, 1))
KERNELS, TILES = (1, 3, 5, 7), (4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 20, 24, 26)
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
DRAWS = 5


def relative_error(
    forward: Callable[..., Tensor], problem: Convolution, dtype: torch.dtype, seed: int = 0
) -> float:
    """The relative error of an algorithm's `forward` pass in numbers of type `dtype`."""
    random_numbers = torch.Generator().manual_seed(seed)
    x, weight = (
        torch.randn(shape, generator=random_numbers, dtype=torch.float64).to(dtype)
        for shape in (problem.x_shape, problem.weight_shape)
    )
    right = direct.forward(x.double(), weight.double(), problem)
    ours = forward(x, weight, problem)
    return float((ours.double() - right).norm() / right.norm())


def error_of(forward: Callable[..., Tensor], problem: Convolution, dtype: torch.dtype) -> float:
    """The median of some draws."""
    return median(relative_error(forward, problem, dtype, seed) for seed in range(DRAWS))


def methods(dtype: torch.dtype) -> str:
    """One line a method."""
    rounding = torch.finfo(dtype).eps / 2
    lines = [f"{_name(dtype):<16}{'relative error':>16}{'roundings':>12}"]
    for name, method in METHODS.items():
        error = error_of(method.algorithm.forward, PROBLEM, dtype)
        lines.append(f"{name:<16}{error:>16.2e}{error / rounding:>12.1f}")
    return "\n".join(lines)


def tiles() -> str:
    """One line a tile and kernel, with the error in each type of numbers."""
    lines = ["Winograd's tiles" + "".join(f"{_name(dtype):>14}" for dtype in DTYPES)]
    limits = dict.fromkeys(DTYPES, max(TILES))
    for tile in TILES:
        for kernel in KERNELS:
            if tile < kernel:
                continue
            way = Winograd(tile + 1 - kernel, limits)
            problem = Convolution(**CHANNELS, kernel=kernel, padding=kernel // 2)
            errors = {dtype: error_of(way.forward, problem, dtype) for dtype in DTYPES}
            lines.append(
                f"{tile:>2} x {tile:<2} kernel {kernel:<2}"
                + "".join(
                    f"{error:>13.1e}{'*' if tile > LARGEST_TILE[dtype] else ' '}"
                    for dtype, error in errors.items()
                )
            )
    return "\n".join(lines)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def main() -> None:
    """Measure, print the tables, keep them."""
    parts = [heading(describe(("numpy", "torch"))), str(PROBLEM)]
    parts += [methods(dtype) for dtype in DTYPES]
    parts.append(tiles())
    print("\n\n".join(parts))
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
