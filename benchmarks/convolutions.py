"""Four convolutions and torch's own, side by side over the layers of three networks.

    python -m benchmarks.convolutions [--passes forward] [--seconds 300] [--threads 1] [--only VGG]

Every method takes each turn on the same data, in an order that rotates, so that a disturbance of
the machine hits all alike; a method's result is compared with torch's before its time counts.
Shown are medians with nonparametric 95% intervals and ratios of medians to
torch.nn.functional.conv2d; beside them what was counted, in thousand millions of operations of
products and of transforms, the workspace, and what a profiled run spent on matrix products, which
transforms are too, and on the rest (copies, padding, sums). Below each layer stands what the
chooser takes and its regret: how much longer its choice takes than the best of ours. Where the
Fourier transform counts fewer operations than im2col, a last line says how fast each runs them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.grad import conv2d_input, conv2d_weight
from torch.profiler import ProfilerActivity, profile

from benchmarks.convolution_targets import counts_less, verdicts
from benchmarks.layers import shared
from ddl_measure.interval import interval
from ddl_measure.machine import PACKAGES, describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_measure.zoo.alexnet import AlexNet
from ddl_measure.zoo.resnet50 import ResNet50
from ddl_measure.zoo.vgg16 import VGG16
from ddl_teach.operators.convolution.chooser import ChosenMethod, choose
from ddl_teach.operators.convolution.methods import METHODS
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.rates import machine_rates
from ddl_teach.theory.convolution_cost import PASSES, ConvolutionCost, cost

RESULTS = Path(__file__).parent / "results"
TURNS = (3, 15)  # at least and at most so many times each method is measured
PRODUCTS = ("mm", "bmm", "addmm", "addmm_", "baddbmm", "baddbmm_")


@dataclass(frozen=True)
class Layer:
    """What was found out about one layer and one pass."""

    problem: Convolution
    direction: str
    times: dict[str, np.ndarray]  # seconds of each turn, by method; "torch" among them
    counts: dict[str, ConvolutionCost]
    shares: dict[str, dict[str, float]]  # of a profiled run, by method and kind
    choices: dict[str, ChosenMethod]  # by how it was chosen

    def median(self, method: str) -> float:
        """Seconds."""
        return float(np.median(self.times[method]))

    @property
    def best(self) -> str:
        """The fastest of ours."""
        return min((name for name in self.times if name != "torch"), key=self.median)

    def speed(self, method: str) -> float:
        """Operations a second while products run, transforms among them."""
        busy = self.median(method) * self.shares[method]["products"]
        return self.counts[method].operations / busy

    def regret(self, how: str) -> float:
        """How many times as long as the best of ours the chosen method takes."""
        return self.median(self.choices[how].method) / self.median(self.best)


def contestants(
    problem: Convolution, direction: str
) -> tuple[dict[str, Callable[[], Tensor]], float]:
    """torch and every method that can, on the same random data, and the seconds all take once.

    Their results are compared.
    """
    x, weight = torch.randn(problem.x_shape), torch.randn(problem.weight_shape)
    gradient = torch.randn(problem.output_shape)
    numbers = {"stride": problem.stride, "padding": problem.padding, "groups": problem.groups}
    arguments, theirs = {
        "forward": ((x, weight), lambda: functional.conv2d(x, weight, **numbers)),
        "input_gradient": (
            (gradient, weight, problem.x_shape),
            lambda: conv2d_input(problem.x_shape, weight, gradient, **numbers),
        ),
        "weight_gradient": (
            (x, gradient, problem.weight_shape),
            lambda: conv2d_weight(x, problem.weight_shape, gradient, **numbers),
        ),
    }[direction]
    field = {"torch": theirs}
    for name, method in METHODS.items():
        if not method.refusal(problem):
            run = getattr(method, direction)
            field[name] = lambda run=run: run(*arguments, **numbers)
    expected = theirs()
    begun = time.perf_counter()
    for name, run in field.items():
        worst = float((run() - expected).abs().max() / expected.abs().max())
        if worst > 1e-3:
            raise AssertionError(f"{name} of {problem}: off by {worst:.1e} of the largest number")
    return field, time.perf_counter() - begun


def shares(run: Callable[[], Tensor]) -> dict[str, float]:
    """What part of the time of a profiled run went into products and the rest."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        run()
    spent = dict.fromkeys(("products", "the rest"), 0.0)
    for event in seen.key_averages():
        kind = "products" if event.key.removeprefix("aten::") in PRODUCTS else "the rest"
        spent[kind] += event.self_cpu_time_total
    total = sum(spent.values())
    return {kind: part / total for kind, part in spent.items()}


def measure(problem: Convolution, direction: str, budget: float) -> Layer:
    """Measure one layer and one pass, for about so many seconds."""
    begun = time.perf_counter()
    choices = {
        "predicted": choose(problem, direction=direction, near=1.0),
        "near ties tried": choose(problem, direction=direction),
    }
    field, one = contestants(problem, direction)
    counted = [name for name in field if name != "torch"]
    split = {name: shares(field[name]) for name in counted}
    left = budget - (time.perf_counter() - begun)
    turns = int(np.clip(left / one, *TURNS))
    times = side_by_side(field, repetitions=turns, warm_up=0)
    counts = {name: cost(name, problem, direction) for name in counted}
    return Layer(problem, direction, times, counts, split, choices)


def text(layer: Layer, owners: list[str]) -> str:
    """One layer's part of the table."""
    p = layer.problem
    shape = f"{p.in_channels} to {p.out_channels} channels, {p.height} x {p.width}, kernel "
    shape += f"{p.kernel[0]} x {p.kernel[1]}, stride {p.stride[0]}, padding {p.padding[0]}"
    shape += f", {p.groups} groups" if p.groups > 1 else ""
    lines = [f"{', '.join(owners)}: {shape}; {layer.direction.replace('_', ' ')}"]
    torch_median = layer.median("torch")
    for name, times in layer.times.items():
        median, low, high = (1e3 * number for number in interval(times))
        line = f"  {name:<13}{median:>9.2f} ms  {low:>9.2f} to {high:>9.2f} ms"
        line += f"{median / 1e3 / torch_median:>8.2f}"
        if name in layer.counts:
            count, part = layer.counts[name], layer.shares[name]
            line += f"{count.product.total / 1e9:>10.2f}{count.transforms.total / 1e9:>8.2f}"
            line += f"{METHODS[name].workspace(p, torch.float32) / 2**20:>9.0f}   "
            line += " ".join(f"{share:>6.0%}" for share in part.values())
        lines.append(line)
    for how, choice in layer.choices.items():
        lines.append(f"  chosen ({how}): {choice.method}, regret {layer.regret(how):.2f}")
    lines.append(f"    {layer.choices['near ties tried'].why}")
    if counts_less(layer):
        fewer = layer.counts["fft"].operations / layer.counts["im2col"].operations
        lines.append(
            f"    fft counts {fewer:.2f} of im2col's operations; its products and transforms run "
            f"at {layer.speed('fft') / 1e9:.0f}, im2col's at {layer.speed('im2col') / 1e9:.0f} "
            "thousand million a second"
        )
    return "\n".join(lines)


HEADER = (
    f"  {'method':<13}{'median':>12}  {'95% interval':>25}{'/ torch':>8}"
    f"{'Gproduct':>10}{'Gtransf':>8}{'MiB':>9}   {'products, the rest':<20}"
)


def main() -> None:
    """Measure, print the table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", nargs="+", choices=PASSES, default=["forward"])
    parser.add_argument("--seconds", type=float, default=300.0, help="for all layers together")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--only", default="", help="layers of networks whose name has this")
    parser.add_argument("--keep", default="convolutions.txt", help="the file in results/")
    chosen = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(chosen.threads)
    with torch.device("meta"):
        networks = {"AlexNet": AlexNet(), "VGG-16": VGG16(), "ResNet-50": ResNet50()}
    networks = {name: network for name, network in networks.items() if chosen.only in name}
    layers = shared(networks, (chosen.batch, 3, 224, 224))
    rates = machine_rates()
    parts = [
        heading(describe([*PACKAGES, "scipy"])),
        f"batch {chosen.batch}, float32, {torch.get_num_threads()} threads; products "
        f"{rates.product / 1e9:.1f}, transforms {rates.transform / 1e9:.2f} thousand million "
        f"operations a second, {rates.bandwidth / 1e9:.1f} GB a second",
        HEADER,
    ]
    print("\n\n".join(parts), flush=True)
    found = []
    budget = chosen.seconds / (len(layers) * len(chosen.passes))
    with torch.inference_mode():
        for problem, owners in layers.items():
            for direction in chosen.passes:
                found.append(measure(problem, direction, budget))
                parts.append(text(found[-1], owners))
                print(f"\n{parts[-1]}", flush=True)
    parts.append(verdicts(found))
    print(f"\n{parts[-1]}")
    RESULTS.mkdir(exist_ok=True)
    keep(RESULTS / chosen.keep, parts)


if __name__ == "__main__":
    main()
