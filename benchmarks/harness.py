"""What the harness of the four levels costs itself: its share of a step of 10 ms.

    python -m benchmarks.harness [--repetitions 31] [--steps 10]

Two figures for each level. First, steps that do nothing with the harness around them: what is
left is the harness, in the processor's time, of which other programs take nothing away. Second,
steps of fixed work, about 10 ms long, with the harness and without it in turns: the ratio of both
with its 95% interval, beside that of the same bare steps under another name, which is what this
machine can tell apart at all. Level 3 looks at a run when it is over: its cost is that of a
message in the ledger.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ddl_measure.interval import interval, ratio_of_turns
from ddl_measure.levels.events import Events
from ddl_measure.levels.networks import Part, pass_through
from ddl_measure.levels.training_level import measure_training
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_measure.traffic import traffic
from ddl_runtime.records.ledger import Ledger

RESULTS = Path(__file__).parent / "results" / "harness.txt"
STEP = 0.01  # seconds
PARTS = 10  # of a network, forward and backward
WIDTH = 128
EMPTY_STEPS = 1000
LEDGER = 100_000  # messages

Work = Callable[[], object]


def work_of(seconds: float) -> Work:
    """Matrix products that take about so long, always as many of them."""
    one, out = np.ones((WIDTH, WIDTH)), np.empty((WIDTH, WIDTH))

    def products(count: int) -> None:
        for _ in range(count):
            np.matmul(one, one, out=out)

    products(10)
    took = []
    for _ in range(20):
        begun = time.perf_counter()
        products(10)
        took.append((time.perf_counter() - begun) / 10)
    count = max(1, round(seconds / np.median(took)))
    return lambda: products(count)


def operator(work: Work, steps: int) -> tuple[Work, Work]:
    """Level 0: calls in turns. The bare steps, and the harness around as many."""
    return bare(work, steps), lambda: side_by_side({"it": work}, repetitions=steps, warm_up=0)


def network(work: Work, steps: int) -> tuple[Work, Work]:
    """Level 1: ten parts there and back, each with an event; `work` is that of one part."""

    def forward(x: float) -> float:
        work()
        return x

    def backward(x: float, towards: float) -> float:
        work()
        return towards

    parts = [Part(f"part {number}", forward, backward) for number in range(PARTS)]

    def harness() -> None:
        events = Events()
        for _ in range(steps):
            pass_through(parts, 1.0, lambda result: result, events)

    def without() -> None:
        for _ in range(steps):
            x = 1.0
            for _ in range(PARTS):
                x = forward(x)
            for _ in range(PARTS):
                x = backward(x, x)

    return without, harness


def training(work: Work, steps: int) -> tuple[Work, Work]:
    """Level 2: input, learning, and a look at held-out data at the end."""

    def learn(_: int) -> float:
        work()
        return 0.0

    def harness() -> None:
        measure_training(int, learn, lambda: 0.5, steps=steps, samples=1, epoch=1)

    def without() -> None:
        for step in range(steps):
            learn(int(step))

    return without, harness


def bare(work: Work, steps: int) -> Work:
    """The steps, and nothing else."""

    def run() -> None:
        for _ in range(steps):
            work()

    return run


LEVELS = {"0 operator": operator, "1 network": network, "2 training": training}


def empty(name: str, repetitions: int) -> tuple[float, float, float]:
    """Processor seconds of the harness in a step that does nothing: median and interval."""
    without, harness = LEVELS[name](lambda: None, EMPTY_STEPS)
    ways = {"without": without, "harness": harness}
    times = side_by_side(ways, repetitions=repetitions, clock=time.process_time)
    return tuple(edge / EMPTY_STEPS for edge in interval(times["harness"] - times["without"]))


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=31)
    parser.add_argument("--steps", type=int, default=10)
    chosen = parser.parse_args()
    lines = [
        f"{'level':<14}{'harness, us a step':>32}{'of 10 ms':>10}"
        f"{'step with / without harness':>40}",
    ]
    steps = work_of(STEP)
    parts = work_of(STEP / (2 * PARTS))
    high = 0.0
    for name, level in LEVELS.items():
        alone = empty(name, chosen.repetitions)
        high = max(high, alone[2])
        without, harness = level(parts if level is network else steps, chosen.steps)
        times = side_by_side(
            {"without": without, "harness": harness, "again": without},
            repetitions=chosen.repetitions,
        )
        ratios = [ratio_of_turns(times[it], times["without"]) for it in ("harness", "again")]
        middle, low, most = (1e6 * edge for edge in alone)
        told = [f"{r[0]:.4f} ({r[1]:.4f} to {r[2]:.4f})" for r in ratios]
        lines.append(
            f"{name:<14}{f'{middle:.2f} ({low:.2f} to {most:.2f})':>32}{alone[0] / STEP:>10.3%}"
            f"{told[0]:>40}"
        )
        lines.append(f"{'':<14}{'the same bare steps again':>42}{told[1]:>40}")
        print("\n".join(lines[-2:]), flush=True)
    ledgers = [Ledger([(0, 0, 8, "host")] * LEDGER)]
    times = side_by_side({"it": lambda: traffic(ledgers)}, repetitions=chosen.repetitions)
    per_message = [1e6 * edge / LEDGER for edge in interval(times["it"])]
    lines += [
        "3 distributed {:.3f} us for each message, after the run ({:.3f} to {:.3f})".format(
            *per_message
        ),
        f"under 1% of a step of 10 ms: {'yes' if high < 0.01 * STEP else 'NO'}, at most "
        f"{high / STEP:.2%} by the upper ends of the intervals",
    ]
    print("\n".join(lines[-2:]))
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
