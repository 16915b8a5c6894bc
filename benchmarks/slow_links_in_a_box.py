"""A round of 50 steps of a GPT on four sites, measured: nodes of a box with slow links.

    python -m benchmarks.slow_links_in_a_box [--rate 100mbit] [--delay 50ms] [--repetitions 3]
        [--small]

Four ranks train with averages at every step, by DiLoCo, and by DiLoCo in fragments with a delay;
first inside one site, which is this machine without the box. A step sleeps for a tenth of a second
besides, as if a device computed it: else four ranks on two cores would measure each other. The
cards of the nodes count what they send. Training by every step is so slow between sites that it
makes only twenty steps. `--small` makes one turn of few steps, and keeps nothing.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.slow_links import FOUR_BITS, SITES, task
from ddl_class.clusters.box.box import Box
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, Ranks
from ddl_teach.theory.machine import Link
from ddl_teach.theory.slow_links import Round
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.diloco import DiLoCo
from ddl_teach.training.consistency.streaming_diloco import StreamingDiLoCo
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.adamw import AdamW
from ddl_teach.training.trainer import train

RESULTS = Path(__file__).parent / "results" / "slow_links_in_a_box.txt"
ROUND, SLEEP = 50, 0.1
WAYS: dict[str, tuple[Any, Compressor, int]] = {
    "every step": (Synchronous(), Dense(), 20),
    "DiLoCo, 4 bits": (DiLoCo(ROUND), FOUR_BITS, 3 * ROUND),
    "fragments, 4 bits": (StreamingDiLoCo(ROUND, 4, 10, 0.5), FOUR_BITS, 3 * ROUND),
}


def seconds_a_step(comm: Comm, name: str, steps: int) -> float:
    """Of a training of few steps, after all ranks are ready."""
    torch.set_num_threads(1)
    consistency, compressor, _ = WAYS[name]
    problem = task(0)
    problem.gradient(problem.initial(), comm.rank, comm.size, 0)
    comm.barrier()
    result = train(
        comm, problem, consistency, compressor=compressor, update=AdamW(0.01), steps=steps,
        pace=lambda worker, step: SLEEP,
    )  # fmt: skip
    return result.total_seconds / steps


def measured(ranks: Ranks, repetitions: int, small: bool, box: Box | None = None) -> list[str]:
    """A line for each way: seconds of the slowest rank, and bytes that cards and ledgers count."""
    names = ["every step"] if box is None else [*WAYS]
    steps = {name: WAYS[name][2] // (3 if small else 1) for name in names}  # whole rounds
    seconds: dict[str, list[float]] = {name: [] for name in names}
    counted: dict[str, str] = dict.fromkeys(names, "")
    given = {"name": names[0], "steps": steps[names[0]]}
    ranks.run(seconds_a_step, timeout=300, trace=False, **given)  # imports, first calls
    for name in names * repetitions:
        before = box and box.counters()
        given = {"name": name, "steps": steps[name]}
        run = ranks.run(seconds_a_step, timeout=300, trace=False, **given)
        seconds[name].append(max(run.results))
        counted[name] = f"ledger {max(each.bytes_sent for each in run.ledger):>9,} B"
        if box and before:
            after = box.counters()
            card = max(after[node].sent_bytes - before[node].sent_bytes for node in box.nodes)
            counted[name] += f", card {card:>9,} B"
    site = "one site" if box is None else "four sites"
    return [
        f"{site:<11}{name:<19}{1e3 * np.median(seconds[name]):>7.0f} ms a step "
        f"({1e3 * min(seconds[name]):.0f} to {1e3 * max(seconds[name]):.0f}); "
        f"{steps[name]} steps: {counted[name]}"
        for name in names
    ]


def main() -> None:
    """Measure inside one site, make a box, measure between four, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--delay", default="50ms")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="one short turn; nothing is kept")
    chosen = parser.parse_args()
    if chosen.small:
        chosen.repetitions = 1
    with Ranks(SITES) as ranks:
        lines = measured(ranks, chosen.repetitions, chosen.small)
    with Box.up(SITES, chosen.rate, chosen.delay, name="sites") as box:
        with Ranks(SITES, on=box) as ranks:
            lines += measured(ranks, chosen.repetitions, chosen.small, box)
        switch = box.switch
    asked = f"{SITES} nodes, {chosen.rate}, {chosen.delay} of delay; the switch: {switch}"
    size = task(0).initial().size
    link, of = Link(0.05, 8 / 100e6), partial(Round, SITES, step_seconds=SLEEP)
    model = {
        "every step": of(4 * size, 1),
        "DiLoCo, 4 bits": of(FOUR_BITS.nbytes(size), ROUND),
        "fragments, 4 bits": of(FOUR_BITS.nbytes(size), ROUND, fragments=4, delay=10),
    }
    lines += [
        f"{'computed':<11}{name:<19}{1e3 * each.seconds(link) / each.period:>7.0f} ms a step "
        f"of {SLEEP} s; a site sends {each.bytes_per_step:,.0f} B a step"
        for name, each in model.items()
    ]
    parts = [heading(describe()), f"{asked}; {chosen.repetitions} turns", "\n".join(lines)]
    print("\n\n".join(parts))
    if not chosen.small:
        keep(RESULTS, parts)


if __name__ == "__main__":
    main()
