"""Published times of all-reduces beside those that NCCL's own model expects.

    python -m benchmarks.published_collectives [--keep]

`theory.nccl.expected` has the numbers by which NCCL chooses; the least of its times is the
prediction. H200 and rows without a kind of GPU count as H100, a node without published cards as
one with 8 of 400 Gbit/s. As the model has no time of a launch and takes vendors' rates, two
numbers are fitted: seconds added to every call, and the share of the bandwidth that is reached.
They are fitted on every second row, and all errors are given for the other rows as well.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from ddl_teach.theory import nccl

HERE = Path(__file__).parent
TABLE = HERE / "published" / "collectives.csv"
RESULTS = HERE / "results" / "published_collectives.txt"
NO_LATENCY = 1e15  # bytes: beside them a latency is nothing
WORST = 8


@dataclass(frozen=True)
class PublishedCollective:
    """A measured all-reduce, and what NCCL expects of each way to do it."""

    name: str
    source: str
    gpu: str
    nodes: int
    ranks: int
    nbytes: float
    seconds: float
    cards: float

    def expected(self, launch: float = 0.0, share: float = 1.0) -> tuple[str, float]:
        """The fastest way by NCCL's model, and its seconds after the two fitted numbers."""
        given = self.nodes, self.ranks // self.nodes, self.gpu, self.cards
        times = nccl.expected(self.nbytes, *given)
        way = min(times, key=lambda name: times[name])
        carried = nccl.expected(NO_LATENCY, *given)[way] / NO_LATENCY * self.nbytes
        return way, float(launch + times[way] + carried * (1 / share - 1))


def read_collectives(path: Path = TABLE) -> tuple[list[PublishedCollective], list[str]]:
    """The all-reduces that the model can predict, and the names of all other rows."""
    rows, others = [], []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            gpu = {"H200": "H100", "": "H100"}.get(row["gpu"], row["gpu"])
            all_reduce = row["collective"] == "all_reduce" and row["size_bytes"]
            if not all_reduce or gpu not in nccl.GENERATIONS:
                others.append(row["id"])
                continue
            ranks, nbytes = int(row["ranks"]), float(row["size_bytes"])
            rows.append(PublishedCollective(
                row["id"], row["source"].split(" ")[0], gpu, int(row["nodes"]), ranks, nbytes,
                seconds_of(row, ranks, nbytes),
                float(row["nics_per_node"] or 8) * float(row["nic_gbps"] or 400) * 1e9 / 8,
            ))  # fmt: skip
    return rows, others


def seconds_of(row: dict[str, str], ranks: int, nbytes: float) -> float:
    """As printed, or from a printed bandwidth as nccl-tests defines it."""
    if row["time_us"]:
        return float(row["time_us"]) * 1e-6
    if row["algbw_GBps"]:
        return nbytes / float(row["algbw_GBps"]) / 1e9
    return 2 * (ranks - 1) / ranks * nbytes / float(row["busbw_GBps"]) / 1e9


def factors(rows: Sequence[PublishedCollective], *fitted: float) -> np.ndarray:
    """Expected over measured, of each row."""
    return np.array([row.expected(*fitted)[1] / row.seconds for row in rows])


def fit(rows: Sequence[PublishedCollective]) -> tuple[float, float]:
    """The launch and the share with the least mean error, as a factor."""
    grid = product(np.arange(0.0, 100e-6, 4e-6), np.arange(0.4, 1.01, 0.04))
    return min(grid, key=lambda fitted: float(np.abs(np.log(factors(rows, *fitted))).mean()))


def typical(values: np.ndarray) -> float:
    """By which factor predictions are off, up or down: the geometric mean."""
    return float(np.exp(np.abs(np.log(values)).mean()))


def report(rows: list[PublishedCollective], others: list[str]) -> str:
    """The errors by source and by size, and the worst rows."""
    fitted = fit(rows[::2])
    launch, share = fitted
    lines = [
        f"{len(rows)} published all-reduces; {len(others)} rows of the table are no all-reduce,",
        f"have no size, or are of a GPU that the model has no numbers for: {', '.join(others)}",
        "",
        "A factor of 1.5: predictions are typically 1.5 times too long or too short.",
        f"Fitted on every second row: {launch * 1e6:.0f} us a call, {share:.0%} of the bandwidth.",
        "",
        f"{'rows':44}{'number':>7}{'by NCCL':>9}{'fitted':>8}{'within 2':>10}",
    ]
    parts = {
        "all": rows,
        "not fitted on": rows[1::2],
        "up to 1 MiB": [row for row in rows if row.nbytes <= 2**20],
        "from 256 MiB": [row for row in rows if row.nbytes >= 2**28],
        "one node": [row for row in rows if row.nodes == 1],
        "several nodes": [row for row in rows if row.nodes > 1],
    }
    for source in sorted({row.source for row in rows}):
        parts[f"of {source}"] = [row for row in rows if row.source == source]
    for name, part in parts.items():
        after = factors(part, *fitted)
        within = float((np.abs(np.log2(after)) < 1).mean())
        lines.append(
            f"{name:44}{len(part):>7}{typical(factors(part)):>9.2f}{typical(after):>8.2f}"
            f"{within:>10.0%}"
        )
    lines += ["", f"The {WORST} worst rows after the fit", ""]
    lines.append(f"{'row':8}{'GPU':6}{'nodes':>6}{'ranks':>6}{'bytes':>14}{'measured':>11}"
                 f"{'expected':>11}{'factor':>8}  way and source")  # fmt: skip
    after = factors(rows, *fitted)
    for place in np.argsort(-np.abs(np.log(after)))[:WORST]:
        row = rows[place]
        way, seconds = row.expected(*fitted)
        lines.append(f"{row.name:8}{row.gpu:6}{row.nodes:>6}{row.ranks:>6}{row.nbytes:>14,.0f}"
                     f"{row.seconds * 1e6:>8.0f} us{seconds * 1e6:>8.0f} us{after[place]:>8.2f}"
                     f"  {way}, {row.source}")  # fmt: skip
    return "\n".join(lines)


def show(about: str, reported: Callable[[], str], results: Path) -> None:
    """A program `about` which prints what is reported, and with --keep keeps it."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--keep", action="store_true", help="keep the report")
    keep = parser.parse_args().keep
    text = reported()
    print(text)
    if keep:
        results.write_text(text + "\n")


def main() -> None:
    """Predict, print, keep."""
    show(__doc__ or "", lambda: report(*read_collectives()), RESULTS)


if __name__ == "__main__":
    main()
