"""How long a learner waits: from a kernel's start to the engines, a result, the first picture.

    python -m benchmarks.first_picture [--units 01_work_and_depth 06_allreduce] [--repetitions 7]

A fresh kernel runs a notebook's code cells in order until the first picture is there. A line that
starts engines runs as a cell of its own, and a cell on all engines comes next. Seconds by the
clock count from the order to start the kernel. Then the parts, each in a fresh Python: imports,
MPI's start, engines, and ipyparallel's controller and client. Processor seconds and page faults
are those of Python and of the processes that it started, if they are still there or were waited
for. Times by the clock hold on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jupyter_client.manager import start_new_kernel

from ddl_class.release import release
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep

RESULTS = Path(__file__).parent / "results" / "first_picture.txt"
SOURCES = Path(__file__).parents[1] / "notebooks" / "source"
STARTS = "engines = Engines("
ON_ENGINES = "%%px\nprint(comm.rank)"
PICTURES = {"image/png", "image/svg+xml", "text/html", "application/vnd.jupyter.widget-view+json"}
LIMIT = 120  # seconds for a cell
# What is tried alone; the clock starts at `begin()`, where there is one.
MPI = "import subprocess; from ddl_runtime.launcher.mpiexec import mpi_command, mpi_environment; "
MPI += "words = mpi_command(4); begin(); subprocess.run([*words, {}], env=mpi_environment())"
ENGINES = "from ddl_class import Engines; "
PARTS = {
    "import of a kernel": "import ipykernel.kernelapp",
    "import of numpy": "import numpy",
    "import of torch": "import torch",
    "import of matplotlib.pyplot": "import matplotlib.pyplot",
    "import of ddl_teach": "import ddl_teach",
    "import of engines' own side": "import ddl_class.engines.engine",
    "mpiexec, 4 times nothing": MPI.format("'true'"),
    "4 times Python": MPI.format("sys.executable, '-c', 'pass'"),
    "4 times MPI's start": MPI.format("sys.executable, '-c', 'from mpi4py import MPI'"),
    "4 times engines' imports": MPI.format(
        "sys.executable, '-c', 'import ddl_class.engines.engine'"
    ),
    "4 engines": f"{ENGINES}begin(); engines = Engines(4)",
    "client of 4 engines": f"{ENGINES}engines = Engines(4); begin(); engines.client",
}
AROUND = """
import json, sys, time
started = time.perf_counter()
def begin():
    global started
    started = time.perf_counter()
{part}
seconds = time.perf_counter() - started
import os, psutil, resource
own = resource.getrusage(resource.RUSAGE_SELF)
below = resource.getrusage(resource.RUSAGE_CHILDREN)
processes, faults = 0, own.ru_minflt + below.ru_minflt
busy = own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime
for each in psutil.Process().children(recursive=True):
    words = open(f"/proc/{{each.pid}}/stat").read().rpartition(")")[2].split()
    faults += int(words[7])
    busy += sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")
    processes += 1
print("figures", json.dumps([seconds, busy, faults, processes]), flush=True)
os._exit(0)
"""


def cells(source: Path) -> Iterator[str]:
    """A notebook's code cells; where one starts engines, that line and a cell on them alone."""
    for cell in release.instructors(source).cells:
        if cell.cell_type != "code":
            continue
        lines, kept = cell.source.splitlines(), list[str]()
        for line in lines:
            if line.startswith(STARTS):
                yield from ("\n".join(kept), line, ON_ENGINES)
                kept = []
            else:
                kept.append(line)
        yield "\n".join(kept)


def waited(source: Path) -> dict[str, float]:
    """The seconds from the kernel's start to each thing that the learner waits for."""
    reached: dict[str, float] = {}
    began = time.perf_counter()
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(source.parents[1]))
    try:
        reached["kernel"] = time.perf_counter() - began
        for number, code in enumerate(cells(source)):
            shown = _run(client, code)
            now = time.perf_counter() - began
            if number == 0:
                reached["first cell"] = now
            if code.startswith(STARTS):
                reached["engines"] = now
            if code == ON_ENGINES:
                reached["result on engines"] = now
            if shown is not None:
                return reached | {"picture": shown - began}
        raise RuntimeError(f"{source.name} shows no picture")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _run(client, code: str) -> float | None:
    """Run a cell; when its first picture came, if one did."""
    message, shown = client.execute(code), None
    while True:
        try:
            answer = client.get_iopub_msg(timeout=LIMIT)
        except queue.Empty:
            raise RuntimeError(f"no end within {LIMIT} s: {code}") from None
        if answer["parent_header"].get("msg_id") != message:
            continue
        kind, content = answer["msg_type"], answer["content"]
        if kind == "error":
            raise RuntimeError(f"{content['ename']}: {content['evalue']}\n\nin {code}")
        if shown is None and PICTURES & content.get("data", {}).keys():
            shown = time.perf_counter()
        if kind == "status" and content["execution_state"] == "idle":
            return shown


def part(code: str) -> list[float]:
    """Seconds by the clock, of processors, page faults and processes that this takes alone."""
    words = [sys.executable, "-c", AROUND.format(part=code)]
    output = subprocess.run(words, capture_output=True, text=True, check=True, timeout=LIMIT)
    _, _, figures = output.stdout.rpartition("figures ")
    return json.loads(figures)


def _spread(values: list[float]) -> str:
    middle, low, high = interval(values)
    return f"{middle:.2f} s ({low:.2f} to {high:.2f})"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", nargs="+", default=["01_work_and_depth", "06_allreduce"])
    parser.add_argument("--repetitions", type=int, default=7)
    chosen = parser.parse_args()
    lines = []

    def note(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    note(f"{'from the kernel’s start to':<48}{'seconds':>24}")
    for unit in chosen.units:
        rounds = [waited(SOURCES / f"{unit}.py") for _ in range(chosen.repetitions)]
        for what in rounds[0]:
            note(f"{f'{unit}: {what}':<48}{_spread([each[what] for each in rounds]):>24}")
    note(f"\n{'alone':<30}{'by the clock':>24}{'processors':>12}{'faults':>10}{'processes':>11}")
    for what, code in PARTS.items():
        figures = [part(code) for _ in range(chosen.repetitions)]
        clock = _spread([each[0] for each in figures])
        busy, faults, processes = np.median(figures, axis=0)[1:]
        note(f"{what:<30}{clock:>24}{busy:>10.2f} s{faults:>10,.0f}{processes:>11.0f}")
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
