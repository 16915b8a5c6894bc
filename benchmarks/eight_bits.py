"""Does a GPT learn as well with eight bits? Its linear layers emulated in each format.

    python -m benchmarks.eight_bits

Every format gets the same rates and seeds, and the rate with the least mean loss at the end is
kept. Losses are on the same pieces of text, which no run has trained on. Numbers depend on the
version of Python, whose source is read.
"""

from collections.abc import Callable
from functools import partial
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

RESULTS = Path(__file__).parent / "results" / "eight_bits.txt"
RATES, SEEDS, STEPS, BATCH, HELD = (0.003, 0.01, 0.03), 3, 200, 16, 256


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


def final_loss(name: str, rate: float, seed: int) -> float:
    """The loss on the pieces held out, after so many steps of Adam."""
    network = gpt(len(ALPHABET), seed=seed)
    if name in RECIPES:
        emulate(network, *RECIPES[name])
    inputs, targets = characters(16, ("heapq", "bisect", "textwrap", "shlex", "difflib"))
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))
    inputs, targets = inputs[order], targets[order]
    rule = torch.optim.Adam(network.parameters(), rate)
    learnt = inputs[HELD:], targets[HELD:]
    for x, y in batches(learnt, BATCH, STEPS, seed):
        rule.zero_grad()
        loss = functional.cross_entropy(network(x).flatten(0, 1), y.flatten())
        loss.backward()
        rule.step()
    with torch.no_grad():
        scores = network(inputs[:HELD]).flatten(0, 1)
        return float(functional.cross_entropy(scores, targets[:HELD].flatten()))


def main() -> None:
    """Keep a line for each format and rate, and which rate is the best."""
    torch.set_num_threads(1)
    lines = [f"{STEPS} steps of {BATCH} pieces, {SEEDS} seeds; losses on {HELD} pieces held out"]
    for name in ("float32", *RECIPES):
        lines.append(name)
        means, all_losses = {}, {}
        for rate in RATES:
            all_losses[rate] = [final_loss(name, rate, seed) for seed in range(SEEDS)]
            means[rate] = np.mean(all_losses[rate])
            each = " ".join(map("{:.3f}".format, all_losses[rate]))
            lines.append(f"    rate {rate:<7g} loss {each}")
        best = min(means, key=lambda rate: means[rate])
        low, high = min(all_losses[best]), max(all_losses[best])
        lines.append(f"    best: rate {best:g}, loss {means[best]:.3f}, {low:.3f} to {high:.3f}")
        print("\n".join(lines[-5:]), flush=True)
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
