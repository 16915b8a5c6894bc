"""The error of each convolution in float32, bfloat16 and float16; Winograd's grows with its tile.

    python -m benchmarks.convolution_errors

Relative errors of the forward pass against double precision, the median of five draws of normal
inputs and weights; beside them how many roundings (half a unit in the last place) that is.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import torch

from benchmarks.machine import describe, heading
from ddl_teach.operators.convolution.errors import relative_error
from ddl_teach.operators.convolution.problem import Convolution

RESULTS = Path(__file__).parent / "results" / "convolution_errors.txt"
METHODS = ("direct", "im2col", "fft", *(f"winograd_{m}x{m}" for m in range(1, 9)))
PROBLEM = Convolution(1, 32, 24, 24, 16, padding=(1, 1))
DRAWS = 5


def table(dtype: torch.dtype) -> str:
    """One line a method."""
    rounding = torch.finfo(dtype).eps / 2
    lines = [f"{str(dtype).removeprefix('torch.'):<16}{'relative error':>16}{'roundings':>12}"]
    for name in METHODS:
        error = median(relative_error(name, PROBLEM, dtype, seed) for seed in range(DRAWS))
        lines.append(f"{name:<16}{error:>16.2e}{error / rounding:>12.1f}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the tables, keep them."""
    parts = [heading(describe(("numpy", "torch"))), str(PROBLEM)]
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        parts.append(table(dtype))
        print(parts[-1], flush=True)
    RESULTS.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
