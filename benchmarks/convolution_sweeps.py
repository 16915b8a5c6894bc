"""Which convolution wins over kernel size, channels and batch: counted, predicted, measured.

    OMP_NUM_THREADS=1 python -m benchmarks.convolution_sweeps [--turns 5]

One layer, of which one number is varied at a time; every method takes each turn on the same data.
For each value the operations and the bytes held between stages, as counted; the time as predicted
by three rates of this machine; and the median of the measured times. Below each table stands from
which value on the FFT stays below im2col, by each of the three.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from ddl_measure.experiments.convolutions import Sweep, sweep
from ddl_measure.machine import describe, heading, keep
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.rates import machine_rates

RESULTS = Path(__file__).parent / "results" / "convolution_sweeps.txt"
METHODS = ("direct", "im2col", "fft", "winograd_2x2", "winograd_4x4")
FEW = Convolution(8, 3, 56, 56, 64, 7, padding=3)
MANY = replace(FEW, in_channels=64)
SWEEPS = {
    "kernel size, 3 input channels": [
        replace(FEW, kernel=(r, r), padding=(r // 2, r // 2)) for r in (1, 3, 5, 7, 9, 11, 13, 15)
    ],
    "kernel size, 64 input channels": [
        replace(MANY, kernel=(r, r), padding=(r // 2, r // 2)) for r in (1, 3, 5, 7, 9, 11, 13)
    ],
    "input channels, kernel 7 x 7": [
        replace(MANY, in_channels=c) for c in (1, 2, 4, 8, 16, 32, 64, 128)
    ],
    "output channels, kernel 7 x 7": [
        replace(MANY, out_channels=c) for c in (1, 2, 4, 8, 16, 32, 64, 128)
    ],
    "input and output channels, kernel 3 x 3": [
        Convolution(8, c, 28, 28, c, padding=(1, 1)) for c in (4, 8, 16, 32, 64, 128, 256)
    ],
    "batch, 64 channels, kernel 7 x 7": [
        Convolution(n, 64, 28, 28, 64, 7, padding=3) for n in (1, 2, 4, 8, 16, 32)
    ],
    "batch, 512 channels, 14 x 14, kernel 3 x 3": [
        Convolution(n, 512, 14, 14, 512, padding=(1, 1)) for n in (1, 2, 4, 8, 16, 32)
    ],
}


def varied(problems: Sequence[Convolution]) -> list[int]:
    """The number in which the problems differ."""
    numbers = [(one.kernel[0], one.in_channels, one.out_channels, one.batch) for one in problems]
    return next([*values] for values in zip(*numbers, strict=True) if len(set(values)) > 1)


def table(name: str, problems: Sequence[Convolution], found: Sweep) -> str:
    """One line for each value and method, and the crossings."""
    lines = [
        name,
        f"{'':>7}{'':<14}{'operations':>12}{'held MiB':>10}{'predicted':>13}{'measured':>13}",
    ]
    values = varied(problems)
    for place, value in enumerate(values):
        for method in METHODS:
            if found.measured[method][place] > 0:
                lines.append(
                    f"{value:>6} {method:<14}{found.operations[method][place] / 1e9:>10.3f} G"
                    f"{found.memory[method][place] / 2**20:>10.1f}"
                    f"{1e3 * found.predicted[method][place]:>10.2f} ms"
                    f"{1e3 * found.measured[method][place]:>10.2f} ms"
                )
    crossings = ", ".join(
        f"{source} {'never' if value is None else f'from {value:g} on'}"
        for source, value in found.crossings(values).items()
    )
    return "\n".join([*lines, f"  FFT below im2col: {crossings}"])


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rates = machine_rates()
    parts = [
        heading(describe(("numpy", "torch"))),
        f"float32, one thread, {turns} turns; products {rates.product / 1e9:.1f}, transforms "
        f"{rates.transform / 1e9:.1f} thousand million operations a second, "
        f"{rates.bandwidth / 1e9:.1f} GB a second",
    ]
    print("\n\n".join(parts), flush=True)
    for name, problems in SWEEPS.items():
        parts.append(table(name, problems, sweep(problems, rates, METHODS, repetitions=turns)))
        print(f"\n{parts[-1]}", flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
