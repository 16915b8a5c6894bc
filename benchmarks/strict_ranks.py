"""What strict ranks cost: the same programs with `strict=True` and without, in turns.

    python -m benchmarks.strict_ranks [--repetitions 21]

Simulated ranks are timed by this machine's clock, not by theirs: how long a simulation takes. On
real ranks the program tells how long its calls took on the rank that was slowest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ddl_measure.interval import ratio_of_turns
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, Phantom, Ranks, simulate
from ddl_teach.collectives import ring

RESULTS = Path(__file__).parent / "results" / "strict_ranks.txt"
KIB = 1024


def reduce(comm: Comm, nbytes: int, calls: int) -> float:
    """So many all-reduces on one ring; returns how long they took."""
    x = np.zeros(nbytes // 8)
    comm.barrier()
    begun = time.perf_counter()
    for _ in range(calls):
        ring.allreduce(comm, x)
    return time.perf_counter() - begun


def shift(comm: Comm, nbytes: int, calls: int) -> float:
    """Messages to the next rank by isend and irecv: their buffers are looked at twice."""
    x, y = np.zeros(nbytes // 8), np.zeros(nbytes // 8)
    comm.barrier()
    begun = time.perf_counter()
    for _ in range(calls):
        arriving = comm.irecv(y, (comm.rank - 1) % comm.size)
        leaving = comm.isend(x, (comm.rank + 1) % comm.size)
        arriving.wait()
        leaving.wait()
    return time.perf_counter() - begun


def phantoms(comm: Comm) -> None:
    """One all-reduce of no data."""
    ring.allreduce(comm, Phantom(1 << 20))


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=21)
    repetitions = parser.parse_args().repetitions
    programs = {"ring all-reduce": reduce, "isend and irecv": shift}
    lines = [f"{'time with strict / without':<58}{'95% interval':>22}"]

    def compare(what: str, seconds: Callable[[bool], float]) -> None:
        times = np.array([[seconds(strict) for strict in (False, True)]
                          for _ in range(repetitions + 1)])[1:]  # fmt: skip
        ratio, low, high = ratio_of_turns(times[:, 1], times[:, 0])
        lines.append(f"{what:<52}{ratio:>6.2f}{f'{low:.2f} to {high:.2f}':>22}")
        print(lines[-1], flush=True)

    def of_simulation(strict: bool) -> float:
        begun = time.perf_counter()
        simulate(phantoms, 256, trace=False, strict=strict)
        return time.perf_counter() - begun

    compare("256 simulated ranks, ring all-reduce, no data", of_simulation)
    with Ranks(2) as ranks:
        for name, program in programs.items():
            for nbytes, calls in ((KIB, 500), (KIB * KIB, 20)):
                given = {"nbytes": nbytes, "calls": calls}
                size = f"{nbytes // KIB:,} KiB"
                for ground, run in (("simulated", simulate), ("real", ranks.run)):
                    compare(
                        f"2 {ground} ranks, {name}, {size}",
                        lambda strict, run=run, program=program, given=given: max(
                            run(program, 2, trace=False, strict=strict, **given).results
                        ),
                    )
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
