"""What the timeline costs: training-like steps of about 1 ms with and without it, in turns.

    python -m benchmarks.recording [--turns 15]

A step computes for 1 ms, reduces 4 KiB over two ranks by a ring and opens three spans. Both kinds
of run alternate; shown is the median time of a step with its nonparametric 95% interval.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, Ranks
from ddl_teach.collectives import ring

RESULTS = Path(__file__).parent / "results" / "recording.txt"
STEPS = 300


def train(comm: Comm) -> float:
    """The median seconds of a step."""
    gradient = np.ones(1024, np.float32)
    steps = []
    for _ in range(STEPS):
        begun = time.perf_counter()
        with comm.span("forward"):
            compute(until=begun + 0.5e-3)
        with comm.span("backward"):
            compute(until=begun + 1e-3)
        with comm.span("all-reduce"):
            ring.allreduce(comm, gradient, "max")
        steps.append(time.perf_counter() - begun)
    return float(np.median(steps))


def compute(until: float) -> None:
    """Keep the processor busy."""
    while time.perf_counter() < until:
        pass


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=15)
    turns = parser.parse_args().turns
    steps: dict[bool, list[float]] = {True: [], False: []}
    with Ranks(2) as ranks:
        for turn in range(turns):
            for trace in (True, False) if turn % 2 else (False, True):
                steps[trace].append(max(ranks.run(train, trace=trace).results))
    lines = [heading(describe()), ""]
    for trace, name in ((False, "off"), (True, "on")):
        median, low, high = (1e6 * time for time in interval(steps[trace]))
        lines.append(f"timeline {name:<4}{median:>9.2f} us a step  ({low:.2f} to {high:.2f})")
    ratio = np.median(steps[True]) / np.median(steps[False])
    lines.append(f"recording costs {100 * (ratio - 1):.2f}% of a step")
    print("\n".join(lines))
    keep(RESULTS, ["\n".join(lines)])


if __name__ == "__main__":
    main()
