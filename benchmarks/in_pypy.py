"""The same simulated ranks in PyPy and in CPython, in turns, each time in a process of its own.

    python -m benchmarks.in_pypy [--pypy pypy3] [--repetitions 5]

PyPy compiles what has run often while it runs on. So the first program of a process is slower than
those that follow. Both are shown, in messages a second of one processor: the first, and the middle
of the second half of all that run in some seconds. Of 65,536 ranks one program runs in a process.

`--pypy` names PyPy for Python 3.11 or later, which must find NumPy; greenlets it has of its own.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.simgrid.programs import alltoall_at_once
from benchmarks.simgrid.programs import ring as on_links
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.collectives import recursive_doubling, ring
from ddl_teach.comm import FatTree

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results" / "in_pypy.txt"
LONG = 8.0  # seconds in which a process runs one program after another
RING, MANY, TREE = 1024, 65_536, FatTree(ports=8, hop_latency=1e-7)
HOSTS = 64


def summed(comm: Comm) -> None:
    """The library's ring, of no data."""
    ring.allreduce(comm, Phantom(1 << 20))


def doubled(comm: Comm) -> None:
    """The library's recursive doubling, of no data."""
    recursive_doubling.allreduce(comm, Phantom(100_000_000))


# How many messages it sends, for how many seconds it runs again and again, and what runs.
PROGRAMS: dict[str, tuple[int, float, Callable[[], Any]]] = {
    "ring of 1,024 ranks": (
        2 * RING * (RING - 1), LONG, lambda: simulate(summed, RING, trace=False),
    ),
    "ring on a fat tree of 64": (
        2 * HOSTS * (HOSTS - 1), LONG,
        lambda: simulate(on_links, HOSTS, network=TREE, trace=False, nbytes=1 << 20),
    ),
    "all to all at once on it": (
        HOSTS * (HOSTS - 1), LONG,
        lambda: simulate(alltoall_at_once, HOSTS, network=TREE, trace=False, nbytes=1 << 20),
    ),
    "65,536 ranks": (16 * MANY, 0.0, lambda: simulate(doubled, MANY, trace=False)),
}  # fmt: skip


def alone(name: str) -> None:
    """What a process prints: which interpreter this is, and messages a second of each program."""
    messages, seconds, run = PROGRAMS[name]
    rates, end = [], time.process_time() + seconds
    while not rates or time.process_time() < end:
        begun = time.process_time()
        run()
        rates.append(messages / (time.process_time() - begun))
    version = getattr(sys, "pypy_version_info", sys.version_info)
    print(platform.python_implementation(), ".".join(map(str, version[:3])), *rates)


def in_a_process(interpreter: str, name: str) -> tuple[str, list[float]]:
    """The interpreter's own name, and what it reaches."""
    command = [interpreter, "-B", "-m", "benchmarks.in_pypy", "--alone", name]
    shown = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    kind, version, *rates = shown.stdout.split()
    return f"{kind} {version}", [float(rate) for rate in rates]


def rows(interpreters: list[str], name: str, repetitions: int) -> list[str]:
    """A line for each interpreter: the first program, and the middle of those that follow."""
    reached: dict[str, list[list[float]]] = {}
    for turn in range(repetitions):
        for interpreter in interpreters[:: 1 if turn % 2 else -1]:
            kind, rates = in_a_process(interpreter, name)
            reached.setdefault(kind, []).append(rates)
    lines = []
    for kind, runs in sorted(reached.items()):
        cells = [millions([rates[0] for rates in runs])]
        if len(runs[0]) > 1:
            cells.append(millions([np.median(rates[len(rates) // 2 :]) for rates in runs]))
        lines.append(f"{f'{name}, {kind}':<44}" + "".join(f"{cell:>26}" for cell in cells))
        print(lines[-1], flush=True)
    return lines


def millions(rates: list[Any]) -> str:
    """The middle one with its interval."""
    middle, low, high = interval(np.array(rates) / 1e6)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pypy", default="pypy3")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--alone", choices=PROGRAMS, help="used by the benchmark itself")
    chosen = parser.parse_args()
    if chosen.alone:
        alone(chosen.alone)
        return
    lines = [f"{'million messages a second':<44}{'first program':>26}{'those that follow':>26}"]
    print(lines[0])
    for name in PROGRAMS:
        lines += rows([sys.executable, chosen.pypy], name, chosen.repetitions)
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
