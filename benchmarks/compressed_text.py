"""Compressed gradients on a task larger than digits of 8 x 8 points: a GPT reads Python's help.

    python -m benchmarks.compressed_text [--steps 200]

The GPT of 100 thousand weights (unit 08) guesses the next of 100 characters. Two simulated
workers train it with one way to send gradients after another, with the memory of unit 16 and
without. Every way gets the same rates and is shown at its best; the order is that of one seed. A
training that diverges counts as 0%.
Counted are the characters of topics that were held out and are guessed right, the weights that
ever moved, and the bytes that a worker sends in a step.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from ddl_measure.machine import describe, heading, keep
from ddl_teach import simulate
from ddl_teach.comm import RankFailed
from ddl_teach.networks.models.data import documentation
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.network_task import NetworkTask
from ddl_teach.training.trainer import train

RESULTS = Path(__file__).parent / "results" / "compressed_text.txt"
ONES = {"1 bit": OneBit(), "top 1%": TopK(0.01), "top 0.1%": TopK(0.001)}
WAYS: dict[str, Compressor] = {"32 bits": Dense(), **ONES}
WAYS |= {f"{name}, memory": Feedback(way) for name, way in ONES.items()}
RATES, WORKERS = (0.125, 0.25, 0.5, 1.0), 2
LENGTH, BATCH, JUDGED = 32, 8, 128  # characters, pieces a worker and step, pieces held out


def trained(compressor: Compressor, rate: float, steps: int) -> tuple[float, float, float, int]:
    """The share of characters guessed right, the loss, the share of weights that moved, bytes."""
    text, held_out = documentation(LENGTH)
    task = NetworkTask(gpt_of("100k"), text, BATCH, every=len(text[1]))
    task.held_out = held_out[0][:JUDGED], held_out[1][:JUDGED]
    given = {"consistency": Synchronous(), "distribution": AllReduce("ring"), "steps": steps}
    given |= {"task": task, "compressor": compressor, "update": SGD(rate), "trace": False}
    try:
        result = simulate(train, WORKERS, **given).results[0]
    except RankFailed as error:
        if "the training has diverged" not in str(error):
            raise
        return 0.0, float("nan"), 1.0, 0
    moved = float(np.mean(result.weights != task.initial()))
    right, loss = task.accuracy(result.weights), task.loss(result.weights)
    return right, loss, moved, result.total_bytes // steps


def main() -> None:
    """Train each way at each rate, and keep the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    lines = [f"GPT of 100k weights, {steps} steps of {WORKERS} workers with {BATCH} x {LENGTH} "
             f"characters each; held out: {JUDGED * LENGTH:,} characters; rates {RATES}",
             "way, at its best rate        right   loss   weights moved   bytes a step",
    ]  # fmt: skip
    print(*lines, sep="\n", flush=True)
    for name, way in WAYS.items():
        runs = {rate: trained(way, rate, steps) for rate in RATES}
        rate = max(runs, key=lambda rate: runs[rate][0])
        right, loss, moved, nbytes = runs[rate]
        lines.append(
            f"{name:17} rate {rate:<4g} {right:6.1%}   {loss:.2f}  {moved:15.1%} {nbytes:14,}  "
            f" at each rate: {', '.join(f'{share:.1%}' for share, *_ in runs.values())}"
        )
        print(lines[-1], flush=True)
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
