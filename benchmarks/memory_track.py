"""What counting memory costs the simulator: the same programs counted and not, in turns.

    python -m benchmarks.memory_track [--repetitions 11]

On 1,024 simulated ranks, without a timeline: a pipeline, whose worker holds the activations of
each micro-batch; a step with sharded states; and the most that can be asked for, a program that
holds and releases something for each message. Timed by this machine's clock: how long a simulation
takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ddl_measure.experiments.layers import sharded_step
from ddl_measure.experiments.pipelines import PassSeconds, timed
from ddl_measure.interval import ratio_of_turns
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b

RESULTS = Path(__file__).parent / "results" / "memory_track.txt"
RANKS = 1024


def hold_each(comm: Comm, rounds: int = 50) -> None:
    """A message to the next rank and one from that before, each round inside of a hold."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x, y = Phantom(1024), Phantom(1024)
    for _ in range(rounds):
        with comm.hold(1024, "buffers"):
            comm.sendrecv(x, right, y, left)


def programs() -> dict[str, Callable[..., Any]]:
    """What is compared, by name."""
    schedule, costs = one_f_one_b(RANKS, 64), PassSeconds(activation_bytes=1024)
    return {
        "pipeline (1F1B, 64 micro-batches)": partial(
            simulate, timed, RANKS, schedule=schedule, costs=costs
        ),
        "sharded step (stage 3, one layer)": partial(
            simulate, sharded_step, RANKS, weights=[RANKS], stage=3, seconds=1.0
        ),
        "a hold around each sendrecv": partial(simulate, hold_each, RANKS),
    }


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=11)
    repetitions = parser.parse_args().repetitions
    lines = [f"{'1,024 simulated ranks':<40}{'not counted':>14}{'counted / not':>15}{'95%':>16}"]
    for name, run in programs().items():
        times = []
        for _ in range(repetitions + 1):
            turn = []
            for memory in (None, float("inf")):
                begun = time.perf_counter()
                run(trace=False, memory=memory)
                turn.append(time.perf_counter() - begun)
            times.append(turn)
        plain, counted = np.array(times[1:]).T
        ratio, low, high = ratio_of_turns(counted, plain)
        interval = f"{low:.2f} to {high:.2f}"
        lines.append(f"{name:<40}{np.median(plain):>12.2f} s{ratio:>15.2f}{interval:>16}")
        print(lines[-1], flush=True)
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
