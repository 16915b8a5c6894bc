"""Simulated ranks in a browser: seconds of a ring and of recursive doubling, in Chromium.

    python -m website --pyodide FOLDER
    python -m benchmarks.in_browser [--site website/built/site] [--turns 5]

Each turn opens a page of the browser edition in a new browser, and starts its kernel. Programs on
Phantom arrays run in it, as in a notebook's cell; a run of 4 ranks before loads what is needed.
Shown are the median and the extremes of the wall's clock, and the processor's time of the whole
browser. What to look at: the machine's load meanwhile. A process on Linux may map 65,530 pieces of
memory unless its owner allows more, and a rank's stack takes three: so 16,384 ranks run once in a
page, and not twice.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
import psutil

from ddl_measure.machine import describe, heading, keep
from slides.chromium import find_chromium
from website import in_chromium, serve

RESULTS = Path(__file__).parent / "results" / "in_browser.txt"
LIMITS = {
    ("ring", 64): 1.0,
    ("recursive_doubling", 1024): 1.0,
    ("recursive_doubling", 16384): 10.0,
}
ASKED = """
import numpy
print("a stand-in" if "Stands in" in numpy.__doc__ else numpy.__version__)
"""
CODE = """
import time
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import {name}
def program(comm):
    {name}.allreduce(comm, Phantom(1 << 20))
begun = time.perf_counter()
simulate(program, {ranks}, trace=False)
print(time.perf_counter() - begun)
"""


def measured(site: Path, turns: int) -> tuple[str, str, dict[tuple[str, int], np.ndarray]]:
    """The browser, its NumPy, and the seconds of each case in each turn."""
    program = find_chromium()
    if program is None:
        raise SystemExit("no Chromium or Chrome was found")
    seconds: dict[tuple[str, int], list[tuple[float, float]]] = {case: [] for case in LIMITS}
    with serve.served(site) as address:
        for _ in range(turns):
            with tempfile.TemporaryDirectory() as folder:
                browser, numpy = one_turn(program, Path(folder), address, seconds)
    return browser, numpy, {case: np.array(took) for case, took in seconds.items()}


def one_turn(
    program: str,
    folder: Path,
    address: str,
    seconds: dict[tuple[str, int], list[tuple[float, float]]],
) -> tuple[str, str]:
    """Measure each case once, in a new browser."""
    with in_chromium.alone(program, folder) as page:
        in_chromium.open_notebook(page, address, "00_tour")
        browser = str(page.ask("navigator.userAgent.match(/Chrom\\S+/)[0]"))
        numpy = in_chromium.run(page, ASKED).strip()
        for name, ranks in LIMITS:
            in_chromium.run(page, CODE.format(name=name, ranks=4))
            before = processor_seconds()
            shown = in_chromium.run(page, CODE.format(name=name, ranks=ranks), 600)
            seconds[name, ranks].append((float(shown), processor_seconds() - before))
            print(name, ranks, *seconds[name, ranks][-1], flush=True)
    return browser, numpy


def processor_seconds() -> float:
    """What all processes that this one has started have used so far."""
    processes = psutil.Process().children(recursive=True)
    return float(sum(sum(process.cpu_times()[:2]) for process in processes))


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=Path("website/built/site"))
    parser.add_argument("--turns", type=int, default=5)
    chosen = parser.parse_args()
    browser, numpy, seconds = measured(chosen.site, chosen.turns)
    load, *_ = os.getloadavg()
    about = (
        f"Simulated ranks in {browser}, {chosen.turns} turns; load of the machine {load:.1f}.\n"
    )
    table = [f"{'all-reduce':<20} {'ranks':>7}    median     least      most processor     asked"]
    for (name, ranks), both in seconds.items():
        took, used = both.T
        row = [np.median(took), took.min(), took.max(), np.median(used), LIMITS[name, ranks]]
        table.append(f"{name:<20} {ranks:>7,} " + " ".join(f"{each:>7.2f} s" for each in row))
    parts = [heading(describe()), about + f"NumPy there: {numpy}", "\n".join(table)]
    print("\n\n".join(parts))
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
