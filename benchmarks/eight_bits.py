"""Does a GPT learn as well with eight bits? Its linear layers emulated in each format.

    python -m benchmarks.eight_bits
    python -m benchmarks.eight_bits wide    # 128 wide, for blocks of 128 x 128

Every format gets the same rates and seeds, and the rate with the least mean loss at the end is
kept. Losses are on the same pieces of text, which no run has trained on. Numbers depend on the
version of Python, whose source is read.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from ddl_measure.machine import describe, heading, keep
from ddl_teach.networks.models.data import ALPHABET, batches, characters
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.operators.precision.eight_bits import (
    E2M1,
    E4M3,
    E5M2,
    Delayed,
    Quantiser,
    by_blocks,
    cast,
    current,
    mx,
)
from ddl_teach.operators.precision.scaled_linear import emulate

RESULTS = Path(__file__).parent / "results"
SEEDS, BATCH, HELD = 3, 16, 256


def always(quantiser: Quantiser) -> tuple[Callable[[], Quantiser], Callable[[], Quantiser]]:
    """Makers that give the same to every tensor, forward and backward."""
    return lambda: quantiser, lambda: quantiser


def sixteen(x: torch.Tensor) -> torch.Tensor:
    """Through bfloat16."""
    return x.bfloat16().float()


RECIPES = {
    "bfloat16": always(sixteen),
    "FP8, one scale": (lambda: current, lambda: partial(current, kind=E5M2)),
    "FP8, delayed": (Delayed, partial(Delayed, E5M2)),
    "FP8, blocks": always(partial(by_blocks, columns=32)),
    "MXFP8": always(mx),
    "MXFP4": always(partial(mx, kind=E2M1)),
    "E4M3, no scale": always(partial(cast, kind=E4M3)),
}
"""Of each name the makers for `emulate`, forward and backward."""


def as_deepseek() -> tuple[Callable[[], Quantiser], Callable[[], Quantiser]]:
    """Blocks of 1 x 128 for inputs and gradients, and of 128 x 128 for weights. `emulate` makes
    the quantiser of a layer's inputs, and then that of its weights."""
    turns = cycle([by_blocks, partial(by_blocks, rows=128)])
    return lambda: next(turns), lambda: by_blocks


@dataclass(frozen=True)
class Comparison:
    """Which formats, on which network, with which rates, and for how many steps."""

    formats: tuple[str, ...]
    width: int = 32
    rates: tuple[float, ...] = (0.003, 0.01, 0.03)
    steps: int = 200
    results: str = "eight_bits.txt"


SMALL = Comparison(("float32", *RECIPES))
RECIPES["FP8, 1 x 128 and 128 x 128"] = as_deepseek()
WIDE = Comparison(
    ("float32", "FP8, 1 x 128 and 128 x 128"),
    128,
    (0.001, 0.003, 0.01),
    100,
    "eight_bits_wide.txt",
)


def final_loss(name: str, rate: float, seed: int, given: Comparison) -> float:
    """The loss on the pieces held out, after so many steps of Adam."""
    network = gpt(len(ALPHABET), given.width, given.width // 8, seed=seed)
    if name in RECIPES:
        emulate(network, *RECIPES[name])
    inputs, targets = characters(16, ("heapq", "bisect", "textwrap", "shlex", "difflib"))
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))
    inputs, targets = inputs[order], targets[order]
    rule = torch.optim.Adam(network.parameters(), rate)
    learnt = inputs[HELD:], targets[HELD:]
    for x, y in batches(learnt, BATCH, given.steps, seed):
        rule.zero_grad()
        loss = functional.cross_entropy(network(x).flatten(0, 1), y.flatten())
        loss.backward()
        rule.step()
    with torch.no_grad():
        scores = network(inputs[:HELD]).flatten(0, 1)
        return float(functional.cross_entropy(scores, targets[:HELD].flatten()))


def main(given: Comparison) -> None:
    """Keep a line for each format and rate, and which rate is the best."""
    torch.set_num_threads(1)
    width = f"{given.width} wide; " * (given is WIDE)
    run = f"{width}{given.steps} steps of {BATCH} pieces, {SEEDS} seeds"
    lines = [f"{run}; losses on {HELD} pieces held out"]
    for name in given.formats:
        lines.append(name)
        means, all_losses = {}, {}
        for rate in given.rates:
            all_losses[rate] = [final_loss(name, rate, seed, given) for seed in range(SEEDS)]
            means[rate] = np.mean(all_losses[rate])
            each = " ".join(map("{:.3f}".format, all_losses[rate]))
            lines.append(f"    rate {rate:<7g} loss {each}")
        best = min(means, key=lambda rate: means[rate])
        low, high = min(all_losses[best]), max(all_losses[best])
        lines.append(f"    best: rate {best:g}, loss {means[best]:.3f}, {low:.3f} to {high:.3f}")
        print("\n".join(lines[-5:]), flush=True)
    keep(RESULTS / given.results, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main(WIDE if sys.argv[1:] == ["wide"] else SMALL)
