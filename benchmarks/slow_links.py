"""Does a GPT learn as well if four sites agree seldom, and in four bits?

    python -m benchmarks.slow_links [NAME ...] [--small]

Four workers, each of which stands for a site. Rates of both rules were searched for on a grid with
one seed, for the ways marked so; losses are those of other seeds. The other ways take the rates of
DiLoCo with rounds of 50 steps: they are not at their best, and could only do better. Losses are on
text that no run has trained on, and depend on the version of Python, whose documentation is read.
`--small` goes through all ways with ten steps, one rate and one seed, and keeps nothing: it shows
that everything runs, and no loss of it means anything.
"""

import argparse
import math
import re
import tempfile
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ddl_measure.machine import describe, heading
from ddl_teach import simulate
from ddl_teach.networks.models.data import ALPHABET, documentation
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.training.compression.blocks import Blocks
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.diloco import DiLoCo
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.consistency.streaming_diloco import StreamingDiLoCo
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.adamw import AdamW
from ddl_teach.training.optimizers.nesterov import Nesterov
from ddl_teach.training.tasks.network_task import NetworkTask
from ddl_teach.training.trainer import train

RESULTS = Path(__file__).parent / "results" / "slow_links.txt"
SITES, WARM, BATCH, LENGTH = 4, 40, 8, 32
RATES, OUTER = (0.005, 0.01, 0.02, 0.04), ((0.7, 0.9), (0.7, 0.6), (1.0, 0.5))
TUNING, SEEDS = 0, (1, 2, 3)
FOUR_BITS = Blocks(7)


@cache
def task(seed: int) -> NetworkTask:
    """A small GPT that reads what Python's `help` knows."""
    model = gpt(len(ALPHABET), 32, 4, 2, LENGTH, tied=True, seed=seed)
    return NetworkTask(model, documentation(LENGTH)[0], BATCH, every=10, seed=seed)


def settings(name: str, rate: float, outer: tuple[float, ...]) -> dict[str, Any]:
    """What `train` gets: the way, and AdamW with a warm-up and a cosine down to zero."""
    consistency, compressor, steps, _ = WAYS[name]

    def now(step: int) -> float:
        return rate * min(step / WARM, 1) * (1 + math.cos(math.pi * step / steps)) / 2

    if hasattr(consistency, "outer"):
        consistency = replace(consistency, outer=Nesterov(*outer))
    parts = {"consistency": consistency, "compressor": compressor}
    return parts | {"update": AdamW(now), "steps": steps}


def final_loss(name: str, rate: float, outer: tuple[float, ...], seed: int) -> float:
    """The loss on the pieces held out."""
    run = simulate(
        train, 1 if name.startswith("one") else SITES, task=task(seed), trace=False,
        **settings(name, rate, outer),
    )  # fmt: skip
    loss = task(seed).loss(run.results[0].weights)
    print(name, rate, outer, seed, f"{loss:.4f}", flush=True)
    return loss


WAYS: dict[str, tuple[Any, Compressor, int, bool]] = {
    "every step, 800 steps": (Synchronous(), Dense(), 800, True),
    "one site of four, 800 steps": (Synchronous(), Dense(), 800, True),
    "one site of four, 1200 steps": (Synchronous(), Dense(), 1200, True),
    "DiLoCo 50": (DiLoCo(50), Dense(), 1200, True),
    "mean of weights, 50": (LocalSGD(50), Dense(), 1200, True),
    "DiLoCo 50, 4 bits, 800 steps": (DiLoCo(50), FOUR_BITS, 800, False),
    "DiLoCo 50, 4 bits": (DiLoCo(50), FOUR_BITS, 1200, False),
    "DiLoCo 50, 4 bits, 1600 steps": (DiLoCo(50), FOUR_BITS, 1600, False),
    "DiLoCo 100, 4 bits": (DiLoCo(100), FOUR_BITS, 1200, False),
    "4 fragments, delay 10, 4 bits": (
        StreamingDiLoCo(50, 4, 10, 0.5), FOUR_BITS, 1200, False,
    ),
}  # fmt: skip
"""Of each name the consistency, the compressor, the steps, and whether rates are searched for."""


def shorter(way: tuple[Any, Compressor, int, bool]) -> tuple[Any, Compressor, int, bool]:
    """The same way with ten steps, and rounds of five."""
    consistency, compressor, _, searched = way
    if hasattr(consistency, "delay"):
        consistency = replace(consistency, period=5, delay=1)
    elif hasattr(consistency, "period"):
        consistency = replace(consistency, period=5)
    return consistency, compressor, 10, searched


def best_rates(name: str, results: Path) -> tuple[float, tuple[float, ...]]:
    """What the search found for this way: the rate of AdamW, and both numbers of Nesterov."""
    line = rf"^{re.escape(name)}\n(?:    tried.*\n)*    best: (\S+) \((\S+), (\S+)\)"
    best = re.search(line, results.read_text(), re.MULTILINE)
    assert best is not None, f"train by {name!r} first: its rates are not there"
    rate, *outer = map(float, best.groups())
    return rate, tuple(outer)


def lines(name: str, results: Path, rates: tuple[float, ...], seeds: tuple[int, ...]) -> list[str]:
    """What was tried, and the losses at the best rates."""
    *_, searched = WAYS[name]
    if searched:
        outers = OUTER if name.startswith("DiLoCo") and rates == RATES else OUTER[:1]
        tried = {(rate, outer): final_loss(name, rate, outer, TUNING)
                 for rate, outer in product(rates, outers)}  # fmt: skip
        rate, outer = min(tried, key=lambda pair: tried[pair])
        report = [f"    tried: {rate} {outer} {loss:.4f}" for (rate, outer), loss in tried.items()]
    else:
        rate, outer = best_rates("DiLoCo 50", results)
        report = []
    losses = [final_loss(name, rate, tuple(outer), seed) for seed in seeds]
    each = " ".join(map("{:.4f}".format, losses))
    return [name, *report, f"    best: {rate} {tuple(outer)} loss {np.mean(losses):.4f}: {each}"]


def main() -> None:
    """Train by the ways that are named, or by all, and keep the losses."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(WAYS)}")
    parser.add_argument("--small", action="store_true", help="ten steps, and nothing is kept")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(WAYS):
        parser.error(f"no way is called {', '.join(unknown)}: take one of {', '.join(WAYS)}")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / RESULTS.name if chosen.small else RESULTS
        rates, seeds = (RATES[:1], SEEDS[:1]) if chosen.small else (RATES, SEEDS)
        if chosen.small:
            WAYS.update({name: shorter(way) for name, way in WAYS.items()})
        if not chosen.names:
            results.write_text(heading(describe()) + "\n")
        for name in chosen.names or WAYS:
            report = "\n".join(lines(name, results, rates, seeds))
            print(report, flush=True)
            results.write_text(f"{results.read_text()}\n{report}\n")


if __name__ == "__main__":
    main()
