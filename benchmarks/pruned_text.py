"""Pruning on a task larger than digits of 8 x 8 points: a GPT that reads Python's documentation.

    python -m benchmarks.pruned_text [--steps 400]

The GPT of 100 thousand weights (unit 08) guesses the next of 100 characters. It learns; then each
share of its matrices' largest weights is kept, as in unit 12, and trained on for half as many
steps. Counted are the characters of topics that were held out and are guessed right, right after
the cut and at the end. Adam at one rate, which was not searched for; the order of one seed.
"""

from __future__ import annotations

import argparse
from copy import deepcopy
from pathlib import Path

import torch
from torch import nn

from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, simulate
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.models.data import batches, documentation
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.pruning.kept import largest_of
from ddl_teach.networks.pruning.train_pruned import Pruned
from ddl_teach.training.optimizers.adam import Adam

RESULTS = Path(__file__).parent / "results" / "pruned_text.txt"
SHARES = (1.0, 0.3, 0.1, 0.03)
LENGTH, BATCH, RATE, JUDGED = 64, 16, 3e-3, 128  # characters, pieces, of Adam, pieces held out


def train(comm: Comm, model: nn.Sequential, share: float, steps: int) -> nn.Sequential:
    """Keep this share of each matrix, and train what is kept on so many batches."""
    trainer = Pruned(comm, model, largest_of(model, share), resident(Adam(RATE)))
    for inputs, targets in batches(documentation(LENGTH)[0], BATCH, steps):
        mean_loss(model(inputs), targets).backward()
        trainer.step()
    return model


def right(network: nn.Sequential) -> float:
    """The share of the held-out characters that the network guesses."""
    inputs, targets = (part[:JUDGED] for part in documentation(LENGTH)[1])
    with torch.no_grad():
        return (network(inputs).argmax(-1) == targets).float().mean().item()


def trained(network: nn.Sequential, share: float, steps: int) -> nn.Sequential:
    """A copy of the network, pruned to this share and trained on."""
    given = {"model": deepcopy(network), "share": share, "steps": steps}
    return simulate(train, 1, trace=False, **given).results[0]


def main() -> None:
    """Train, prune, train on, and keep the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    whole = trained(gpt_of("100k"), 1.0, steps)
    lines = [f"GPT of 100k weights, {steps} steps of {BATCH} x {LENGTH} characters, "
             f"then {steps // 2} steps more; held out: {JUDGED * LENGTH:,} characters",
             f"before pruning: {right(whole):.1%} right"]  # fmt: skip
    print(*lines, sep="\n", flush=True)
    for share in SHARES:
        cut, more = (right(trained(whole, share, count)) for count in (0, steps // 2))
        lines.append(f"{share:4.0%} kept: {cut:6.1%} just pruned {more:6.1%} trained on")
        print(lines[-1], flush=True)
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
