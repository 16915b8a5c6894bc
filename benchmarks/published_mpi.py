"""Published times of MPI's all-reduce beside the formulas of unit 06.

    python -m benchmarks.published_mpi [--keep]

The table has medians and quartiles of 20 runs on Lassen, one rank in each node: OSU's ping-pong
and all-reduce of one call of `osu_latency` and `osu_allreduce` (MIT licence; github.com
converged-computing/metrics-operator-experiments, google/kubecon/hpc/lassen-run1). A formula takes
the published ping-pong for L + nG, between two sizes along a straight line. Nothing is fitted.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.published_collectives import HERE, show, typical

TABLE = HERE / "published" / "mpi.csv"
RESULTS = HERE / "results" / "published_mpi.txt"
Message = Callable[[float], float]
Times = dict[tuple[int, int], float]


def read_times(path: Path = TABLE) -> tuple[Message, Times]:
    """A message's microseconds by its bytes, and an all-reduce's by nodes and bytes."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ping_pong = [row for row in rows if row["test"] == "ping-pong"]
    sizes, times = ([float(row[name]) for row in ping_pong] for name in ("bytes", "median_us"))
    measured = {
        (int(row["nodes"]), int(row["bytes"])): float(row["median_us"])
        for row in rows
        if row["test"] == "all-reduce"
    }
    return lambda nbytes: float(np.interp(nbytes, sizes, times)), measured


def expected(nodes: int, nbytes: int, message: Message) -> dict[str, float]:
    """The microseconds of three ways on a power of two of nodes."""
    levels = nodes.bit_length() - 1
    return {
        "recursive doubling": levels * message(nbytes),
        "Rabenseifner": 2 * sum(message(nbytes / 2**level) for level in range(1, levels + 1)),
        "ring": 2 * (nodes - 1) * message(nbytes / nodes),
    }


def fallen(measured: Times) -> list[tuple[int, int]]:
    """Nodes and bytes of times that are longer than those of twice the bytes."""
    return [
        (nodes, nbytes)
        for (nodes, nbytes), time in measured.items()
        if time > 1.05 * measured.get((nodes, 2 * nbytes), np.inf)
    ]


def report(message: Message, measured: Times) -> str:
    """Each time beside the least of the three ways, and what no formula says."""
    lines = [
        f"{len(measured)} published all-reduces of MPI, medians of 20 runs, one rank a node",
        "",
        f"{'nodes':>5}{'bytes':>11}{'measured':>12}{'expected':>12}{'factor':>8}  the least",
    ]
    factors = {}
    for (nodes, nbytes), time in measured.items():
        ways = expected(nodes, nbytes, message)
        way = min(ways, key=lambda name: ways[name])
        factors[nodes, nbytes] = ways[way] / time
        lines.append(
            f"{nodes:>5}{nbytes:>11,}{time:>9.1f} us{ways[way]:>9.1f} us"
            f"{factors[nodes, nbytes]:>8.2f}  {way}"
        )
    values = np.array([*factors.values()])
    lines += [
        "",
        f"Typical factor: {typical(values):.2f}; too short: {np.mean(values < 1):.0%}; "
        f"within 2: {np.mean(np.abs(np.log2(values)) < 1):.0%}",
        "Longer than for twice the bytes: "
        + "; ".join(f"{nodes} nodes, {nbytes:,}" for nodes, nbytes in fallen(measured)),
    ]
    return "\n".join(lines)


def main() -> None:
    """Predict, print, keep."""
    show(__doc__ or "", lambda: report(*read_times()), RESULTS)


if __name__ == "__main__":
    main()
