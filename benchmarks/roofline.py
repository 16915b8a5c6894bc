"""AlexNet's and ResNet-50's layers below the ceilings of this machine.

    python -m benchmarks.roofline [--batch 4] [--picture docs/roofline.png]

Ceilings are the medians of repeated matrix products and triads, with their 95% intervals; a
layer's speed is what it computes in the median time of its forward passes. Left of a roof's ridge
memory is the limit, right of it arithmetic. The last column is the share of the roof that a kind
of layer reaches, weighted by time: what is missing is not in the two numbers that a roof is made
of. On a machine that others use too, OMP_NUM_THREADS=1 gives steadier numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from benchmarks.ceilings import Ceilings, LayerRate, Rate, ceilings, layer_rates, layer_times
from benchmarks.pictures import plot_roofline
from benchmarks.roof import Roof
from ddl_measure.analysis import analyse
from ddl_measure.machine import describe, heading, keep
from ddl_measure.zoo import alexnet, resnet50

RESULTS = Path(__file__).parent / "results" / "roofline.txt"
NETWORKS = {"AlexNet": alexnet.AlexNet, "ResNet-50": resnet50.ResNet50}


def measured_layers(name: str, batch: int, repetitions: int) -> tuple[LayerRate, ...]:
    """The layers of a network with real weights, each at its speed."""
    network, images = NETWORKS[name]().eval(), torch.randn(batch, *alexnet.IMAGE)
    times = layer_times(network, images, repetitions=repetitions)
    return layer_rates(analyse(network, images), times)


def ceiling_lines(found: Ceilings) -> Iterable[str]:
    """The ceilings as text."""

    def line(name: str, rate: Rate, unit: str) -> str:
        low, high = rate.low / 1e9, rate.high / 1e9
        return f"{name:<22}{rate.median / 1e9:>9.1f}{low:>11.1f} to {high:>6.1f} {unit}"

    yield f"ceilings, threads: {found.threads}{'median':>15}{'95% interval':>20}"
    for dtype, rate in found.operations.items():
        yield line(dtype, rate, "Gop/s")
    for size, rate in found.bandwidths.items():
        yield line(f"{size:,} bytes", rate, "GB/s")


def layer_lines(name: str, layers: Sequence[LayerRate], roof: Roof) -> Iterable[str]:
    """One line a kind of layer, those that take longest first."""
    whole = sum(layer.seconds for layer in layers)
    kinds = {layer.kind for layer in layers}
    by_kind = {kind: [layer for layer in layers if layer.kind == kind] for kind in kinds}
    yield f"{name}: {whole * 1e3:.0f} ms"
    yield f"  {'kind':<20}{'layers':>7}{'time':>7}{'op/byte':>16}{'Gop/s':>16}{'of roof':>9}"
    for kind, own in sorted(by_kind.items(), key=lambda it: -sum(one.seconds for one in it[1])):
        seconds = sum(layer.seconds for layer in own)
        least = sum(layer.rate * layer.seconds / roof.attainable(layer.intensity) for layer in own)
        intensities = sorted(layer.intensity for layer in own)
        rates = sorted(layer.rate / 1e9 for layer in own)
        yield (
            f"  {kind:<20}{len(own):>7}{seconds / whole:>7.0%}"
            f"{f'{intensities[0]:.3g} - {intensities[-1]:.3g}':>16}"
            f"{f'{rates[0]:.2g} - {rates[-1]:.2g}':>16}{least / seconds:>9.2f}"
        )


def main() -> None:
    """Measure, print, keep; draw if wanted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--repetitions", type=int, default=11)
    parser.add_argument("--picture", type=Path, help="where to draw ResNet-50's roofline")
    chosen = parser.parse_args()
    found = ceilings(repetitions=chosen.repetitions)
    top = found.operations["float32"].median
    roof = Roof(top, found.memory.median)
    lines = [heading(describe(("torch",))), "", *ceiling_lines(found)]
    for name in NETWORKS:
        layers = measured_layers(name, chosen.batch, chosen.repetitions)
        lines += ["", *layer_lines(f"{name}, batch {chosen.batch}", layers, roof)]
    print("\n".join(lines))
    keep(RESULTS, ["\n".join(lines)])
    if chosen.picture:
        bandwidths = {"memory": found.memory.median, "cache": found.cache.median}
        axes = plot_roofline(layers, top, bandwidths, network=name)
        axes.figure.savefig(chosen.picture, dpi=100)


if __name__ == "__main__":
    main()
