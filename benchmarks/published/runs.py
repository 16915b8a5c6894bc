"""Trainings that others ran and published: a row of the table is a run with its source."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ddl_teach.planning.presets import ACCELERATORS

TABLE = Path(__file__).with_name("runs.csv")

# Vendors' figures: dense operations a second in 16 bits, bytes a second of the memory.
PEAKS = {name: each.peak for name, each in ACCELERATORS.items()} | {
    "P100": 21.2e12, "V100": 125e12, "A800": 312e12, "GH200": 989.4e12, "GB200": 2500e12,
    "MI250X": 383e12,
}  # fmt: skip
PEAKS_OF_OTHERS = {("V100", "fp32"): 15.7e12, ("A100", "tf32"): 156e12}
MEMORY_RATES = {name: each.memory_rate for name, each in ACCELERATORS.items()} | {
    "P100": 0.732e12, "V100": 0.9e12, "A100-40GB": 1.555e12, "A800": 2.039e12, "GH200": 4.0e12,
    "GB200": 8e12, "MI250X": 3.2e12,
}  # fmt: skip
CARDS = {"P100": 12.5e9, "V100": 50e9, "A100": 200e9}  # bytes a node, if not printed
LATER_CARDS = 400e9

# Two days of BLOOM's trials. Its notes say of the first: "A100s PCI-Express/NUMA was improved
# today [...] do not compare today's numbers to yesterday's". Of the second, with a new optimizer:
# "Do not compare these numbers to the previous ones."
CHANGES = ("02-25", "02-28")


@dataclass(frozen=True)
class PublishedRun:
    """A training, and the seconds that a step of it took."""

    name: str
    source: str
    note: str
    model: str
    arch: str
    gpu: str
    precision: str
    processors: float
    ranks_a_node: float
    inside_rate: float  # bytes a second and rank, in one direction
    node_rate: float  # of all cards of a node
    data: float
    tensor: float
    pipeline: float
    interleaved: float
    sharding: str
    recompute: str
    micro_batch: float
    global_batch: float
    layers: float
    hidden: float
    heads: float
    heads_of_keys: float
    inner: float  # width of the feed-forward layers
    gated: bool
    vocabulary: float
    sequence: float
    seconds: float

    @property
    def kind(self) -> str:
        """The processor, without its memory: "A100"."""
        return kind_of(self.gpu)

    @property
    def peak(self) -> float:
        wide = 2 if self.precision == "fp8" else 1
        return PEAKS_OF_OTHERS.get((self.kind, self.precision), wide * self.peak_16_bit)

    @property
    def peak_16_bit(self) -> float:
        return PEAKS[self.kind]

    @property
    def memory_rate(self) -> float:
        return MEMORY_RATES.get(self.gpu, MEMORY_RATES[self.kind])

    @property
    def shards_weights(self) -> bool:
        return "SDP" in self.sharding

    @property
    def shards_state(self) -> bool:
        return self.sharding not in ("", "ZeRO-0")

    @property
    def plan(self) -> tuple[object, ...]:
        """What may be chosen differently for the same model on the same machine."""
        return (
            self.data, self.tensor, self.pipeline, self.interleaved, self.sharding, self.recompute,
            self.micro_batch,
        )  # fmt: skip

    @property
    def setting(self) -> tuple[object, ...]:
        """The model, the machine, who ran it, and after how many changes of the machine."""
        date = re.search(r"date (\d\d-\d\d)", self.note)
        changes = sum(change <= date[1] for change in CHANGES) if date else 0
        return (
            self.source[:40], self.arch, self.layers, self.hidden, self.heads, self.sequence,
            self.gpu, self.precision, self.processors, changes,
        )  # fmt: skip

    @property
    def seconds_a_sample(self) -> float:
        return self.seconds / self.global_batch


def read_runs(path: Path = TABLE) -> list[PublishedRun]:
    """The runs of a table in this form; its columns are those of `runs.csv`, where an empty cell
    was not published."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows or "run_id" not in rows[0]:
        raise ValueError(f"{path} is no table of runs: it has no column run_id")
    return [_run(row) for row in rows]


def _run(row: dict[str, str]) -> PublishedRun:
    def number(column: str, otherwise: float = 1.0) -> float:
        return float(row[column]) if row.get(column) else otherwise

    kind = kind_of(row["gpu"])
    if kind not in PEAKS:
        raise ValueError(f"{row['run_id']}: no rates are known of {row['gpu']}: add it to PEAKS")
    processors, images = number("n_gpus"), row["arch"] == "cnn"
    batch = number("global_batch", 256 * processors)
    tensor, pipeline = number("tp"), number("pp")
    data = number("dp")
    if data * tensor * pipeline != processors:  # as one row says of itself
        data = processors / tensor / pipeline
    # Where no size is printed: small ones in deep pipelines, as in the papers' other tables.
    micro = number("micro_batch", 1 if pipeline > 8 else 2 if pipeline > 1 else 8)
    samples_a_second = (
        number("samples_s")
        if images
        else number("tokens_s_gpu_used") * processors / number("seq_len")
    )
    return PublishedRun(
        name=row["run_id"], source=row["source"], note=row["note"], model=row["model"],
        arch=row["arch"], gpu=row["gpu"], precision=row["precision"], processors=processors,
        ranks_a_node=number("gpus_per_node", 8),
        inside_rate=number("intra_GBps_uni_per_gpu", 150) * 1e9,
        node_rate=_node_rate(row, kind), data=data, tensor=tensor, pipeline=pipeline,
        interleaved=number("vp"), sharding=row["sharding"], recompute=row["recompute"] or "none",
        micro_batch=min(micro, batch / data), global_batch=batch, layers=number("layers", 0),
        hidden=number("hidden", 0), heads=number("heads"),
        heads_of_keys=number("kv_heads", number("heads")), inner=number("ffn", 0),
        gated=row["gated"] == "1", vocabulary=number("vocab", 0), sequence=number("seq_len", 0),
        seconds=batch / samples_a_second,
    )  # fmt: skip


def _node_rate(row: dict[str, str], kind: str) -> float:
    """Bytes a second of all cards of a node: "400" a card, or "1600 per node total"."""
    if not row["nic_gbps"]:
        return CARDS.get(kind, LATER_CARDS)
    rate = float(row["nic_gbps"].split()[0]) * 1e9 / 8
    return rate * float(row["nics_per_node"] or 1)


def kind_of(gpu: str) -> str:
    """ "A100" of "A100-80GB", "V100" of "V100-32GB (DGX-2)"."""
    return gpu.split("-")[0].split(" ")[0]


def named(runs: Sequence[PublishedRun], names: Sequence[str]) -> list[PublishedRun]:
    """The runs of these names."""
    return [run for run in runs if run.name in set(names)]
