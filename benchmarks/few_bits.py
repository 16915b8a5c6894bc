"""Muon, Adam and Adam with 8-bit states at their best rates; the best rate by width, by muP.

    python -m benchmarks.few_bits optimizers [NAME ...]    # with names: printed, and not kept
    python -m benchmarks.few_bits widths
    python -m benchmarks.few_bits steps

Each optimizer gets the same number of pairs of rates: one for the matrices of the blocks, one for
all other weights. The pair with the least mean loss over two seeds is kept, and five other seeds
say how good it is. Losses are those of the training batches, a mean of the last 50 steps.
"""

import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector

from benchmarks.small_gpt import BATCH, LENGTH, by_rule, by_width, muon, network
from ddl_measure.machine import describe, heading, keep
from ddl_teach.networks.models.data import batches, characters
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.adam_8bit import Adam8Bit

RESULTS = Path(__file__).parent / "results"
STEPS, LAST, TUNING, SEEDS = 250, 50, (0, 1), (2, 3, 4, 5, 6)
BY_ADAM = (0.0005, 0.001, 0.002, 0.004, 0.008)
BY_MUON = (0.0025, 0.005, 0.01, 0.02, 0.04)
REST = (0.008, 0.016, 0.032, 0.064, 0.128)
LOST = 10.0  # a loss that is far above that of the first step
WIDTHS, WIDTH_STEPS, WIDTH_SEEDS = (16, 32, 64, 128), 150, (0, 1, 2)
STEP_WIDTHS, REPEATED = (32, 128, 512), 15
WIDTH_RATES = tuple(2.0**power for power in range(-9, -2))


class TwoRules:
    """A rule for the blocks of a model, and another one for its embeddings, last norm and head."""

    states, elementwise = 2, False

    def __init__(self, model: torch.nn.Sequential, blocks: Any, rest: Any) -> None:
        sizes = [(name, weight.numel()) for name, weight in model.named_parameters()]
        of_blocks = [size for name, size in sizes if name.startswith("block")]
        begin = sum(size for name, size in sizes if name.startswith("embedding"))
        middle = slice(begin, begin + sum(of_blocks))
        self.parts = [(middle, blocks), (slice(begin), rest), (slice(middle.stop, None), rest)]

    def __call__(self, weights: Any, gradient: Any, states: Sequence[Any], step: int) -> None:
        for part, rule in self.parts:
            rule(weights[part], gradient[part], [state[part] for state in states], step)


Make = Callable[[Any, float, float], Any]
OPTIMIZERS: dict[str, tuple[Sequence[float], Make]] = {
    "Adam": (BY_ADAM, lambda model, rate, rest: TwoRules(model, Adam(rate), Adam(rest))),
    "Adam, 8 bits in blocks": (
        BY_ADAM,
        lambda model, rate, rest: TwoRules(model, Adam8Bit(rate, least=0), Adam(rest)),
    ),
    "Adam, 8 bits everywhere": (
        BY_ADAM,
        lambda model, rate, rest: TwoRules(
            model, Adam8Bit(rate, least=0), Adam8Bit(rest, least=0)
        ),
    ),
    "Adam, 8 bits, safeguard": (
        BY_ADAM,
        lambda model, rate, rest: TwoRules(model, Adam8Bit(rate), Adam8Bit(rest)),
    ),
    "Muon": (BY_MUON, lambda model, rate, rest: muon(model, rate, Adam(rest))),
}


def end(losses: Sequence[float]) -> float:
    """The mean of the last steps."""
    return float(np.mean(losses[-LAST:]))


def ends(make: Make, rates: tuple[float, float], seeds: Sequence[int]) -> list[float]:
    """The losses of an optimizer with these rates, one for each seed."""
    return [end(by_rule(lambda model: make(model, *rates), STEPS, seed)) for seed in seeds]


def optimizers(*names: str) -> list[str]:
    """A line for each optimizer and pair of rates, and its best pair on other seeds."""
    pairs = len(BY_ADAM) * len(REST)
    lines = [f"{STEPS} steps; {pairs} pairs of rates, {len(TUNING)} seeds each; 5 other seeds"]
    for name in names or OPTIMIZERS:
        (rates, make), means = OPTIMIZERS[name], {}
        for pair in product(rates, REST):
            mean = np.mean(ends(make, pair, TUNING))
            means[pair] = float(np.nan_to_num(mean, nan=np.inf))
            lines.append(f"    {name}: rates {pair[0]:g} and {pair[1]:g}, loss {means[pair]:.3f}")
        rate, rest = min(means, key=lambda pair: means[pair])
        best = ends(make, (rate, rest), SEEDS)
        lost = sum(mean > LOST for mean in means.values())
        where = f"best: rates {rate:g} and {rest:g}, loss {np.mean(best):.3f}"
        spread = f"from {min(best):.3f} to {max(best):.3f}"
        lines.append(f"{name}: {where}, {spread}; {lost} of {pairs} pairs lost all")
    return lines


def widths() -> list[str]:
    """A line for each width: the mean loss at each rate, and the best rate."""
    lines = [f"{WIDTH_STEPS} steps, {len(WIDTH_SEEDS)} seeds; base width {WIDTHS[0]}"]
    lines.append("rates    " + " ".join(f"2^{int(np.log2(rate))}" for rate in WIDTH_RATES))
    for name, base in (("without muP", 0), ("with muP", WIDTHS[0])):
        for width in WIDTHS:
            runs = [
                [end(by_width(width, rate, WIDTH_STEPS, seed, base)) for seed in WIDTH_SEEDS]
                for rate in WIDTH_RATES
            ]
            means = np.mean(runs, axis=1)
            best = int(np.log2(WIDTH_RATES[int(np.argmin(means))]))
            losses = " ".join(f"{mean:.3f}" for mean in means)
            lines.append(f"{name}  width {width:<4} best 2^{best}  losses {losses}")
    return lines


def steps() -> list[str]:
    """The processor's seconds for a step of Adam and of Muon, on a GPT of each width."""
    lines = [f"medians of {REPEATED} steps, by turns; texts of {LENGTH}, {BATCH} in a batch"]
    for width in STEP_WIDTHS:
        model = network(width)
        weights = parameters_to_vector(model.parameters()).detach()
        rules = {"Adam": Adam(0.01), "Muon": muon(model, 0.01, Adam(0.01))}
        kept = {name: [torch.zeros_like(weights) for _ in range(rule.states)]
                for name, rule in rules.items()}  # fmt: skip
        tokens, targets = next(iter(batches(characters(LENGTH), BATCH, 1)))
        took: dict[str, list[float]] = {"forward and backward": [], "Adam": [], "Muon": []}
        for _ in range(REPEATED):
            begun = process_time()
            mean_loss(model(tokens), targets).backward()  # type: ignore[no-untyped-call]
            took["forward and backward"].append(process_time() - begun)
            for name, rule in rules.items():
                begun = process_time()
                rule(weights, torch.ones_like(weights), kept[name], 1)
                took[name].append(process_time() - begun)
        each = ", ".join(f"{name} {1e3 * np.median(ms):.2f} ms" for name, ms in took.items())
        lines.append(f"width {width:<4} {each}")
    return lines


if __name__ == "__main__":
    torch.set_num_threads(1)
    part, *names = sys.argv[1:]
    body = "\n".join({"optimizers": optimizers, "widths": widths, "steps": steps}[part](*names))
    if names:
        print(body)
    else:
        keep(RESULTS / f"few_bits_{part}.txt", [heading(describe()), body])
