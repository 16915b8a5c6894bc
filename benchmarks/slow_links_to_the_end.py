"""One site against four: whole trainings of a GPT to the same held-out loss, in seconds and bytes.

    python -m benchmarks.slow_links_to_the_end [--rate 100mbit] [--delay 50ms] [--small]

Inside one site, which is this machine without the box, four workers agree in each of 800 steps.
Between four sites, which are nodes of a box, they make 1600 steps of DiLoCo in 4 bits. Both take
the rates that `benchmarks.slow_links` found, and the same three seeds, in turns. A step sleeps
for a tenth of a second besides, as if a device computed it. Seconds are those of the slowest
rank, from the first step to the last. Bytes are those of the rank that sends most. `--small`
makes ten steps with one seed, and keeps nothing.
What to look at: do both ways end at the same loss, and which share of the time do links cost?
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from benchmarks import slow_links
from benchmarks.slow_links_in_a_box import SLEEP
from ddl_class.clusters.box.box import Box
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, Ranks
from ddl_teach.training.trainer import train

RESULTS = Path(__file__).parent / "results" / "slow_links_to_the_end.txt"
ONE_SITE, FOUR_SITES = "every step, 800 steps", "DiLoCo 50, 4 bits, 1600 steps"
SEARCHED = {ONE_SITE: ONE_SITE, FOUR_SITES: "DiLoCo 50"}
"""Of each way the one whose rates it takes."""


def trained(
    comm: Comm, name: str, steps: int, rate: float, outer: tuple[float, ...], seed: int
) -> tuple[float, float]:
    """Seconds of the training, and the loss on the pieces held out."""
    torch.set_num_threads(1)
    task = slow_links.task(seed)
    task.gradient(task.initial(), comm.rank, comm.size, 0)  # imports, first calls
    given = slow_links.settings(name, rate, outer) | {"steps": steps}
    comm.barrier()
    result = train(comm, task, pace=lambda worker, step: SLEEP, **given)
    assert result.weights is not None
    return result.total_seconds, task.loss(result.weights)


def line(ranks: Ranks, name: str, seed: int, small: bool) -> tuple[str, float, float]:
    """A training in words, its seconds and its loss."""
    steps = 10 if small else slow_links.WAYS[name][2]
    rate, outer = slow_links.best_rates(SEARCHED[name], slow_links.RESULTS)
    run = ranks.run(
        trained, name=name, steps=steps, rate=rate, outer=outer, seed=seed, timeout=1800,
        trace=False,
    )  # fmt: skip
    seconds, loss = max(each for each, _ in run.results), run.results[0][1]
    sent = max(each.bytes_sent for each in run.ledger)
    where = "one site" if name == ONE_SITE else "four sites"
    text = f"{where:<11}seed {seed}{seconds:>8.1f} s  loss {loss:.4f}  sent {sent:>12,} B"
    print(text, flush=True)
    return text, seconds, loss


def main() -> None:
    """Train by both ways in turns, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--delay", default="50ms")
    parser.add_argument("--small", action="store_true", help="ten steps, and nothing is kept")
    chosen = parser.parse_args()
    seeds = slow_links.SEEDS[:1] if chosen.small else slow_links.SEEDS
    rows: dict[str, list[tuple[str, float, float]]] = {ONE_SITE: [], FOUR_SITES: []}
    with Box.up(slow_links.SITES, chosen.rate, chosen.delay, name="sites") as box:
        with Ranks(slow_links.SITES) as near, Ranks(slow_links.SITES, on=box) as far:
            for seed in seeds:
                rows[ONE_SITE].append(line(near, ONE_SITE, seed, chosen.small))
                rows[FOUR_SITES].append(line(far, FOUR_SITES, seed, chosen.small))
        switch = box.switch
    asked = (
        f"{slow_links.SITES} nodes, {chosen.rate}, {chosen.delay} of delay; the switch: {switch}"
    )
    texts = [text for each in rows.values() for text, _, _ in each]
    for name, each in rows.items():
        seconds, losses = (np.mean(values) for values in list(zip(*each, strict=True))[1:])
        texts.append(f"mean of {name}: {seconds:.1f} s, loss {losses:.4f}")
    parts = [heading(describe()), asked, "\n".join(texts)]
    print("\n\n".join(parts))
    if not chosen.small:
        keep(RESULTS, parts)


if __name__ == "__main__":
    main()
