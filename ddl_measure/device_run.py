"""What was measured of messages between devices, as plain data: every repetition, and on what.

A *row* is one way of one test with one size; `seconds` are those of one message (of one call of an
all-reduce, of one copy, of one step). There is a number for each repetition, in the order of
measuring. `about` says on which machine, when, with which versions, GPU and driver, and `device`
on what the arrays lay: a stand-in is called one there, and no reader of a run may call it a GPU.
Nothing is computed before it is kept. What to look at: `run.times("latency", way)` over sizes.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ddl_measure.interval import Interval, interval
from ddl_runtime.pictures.words import size_text
from ddl_runtime.records.whole_file import write_whole

FORMAT = "ddl-teach device run 1"
GPU, STAND_IN, NO_DEVICE = "GPU", "stand-in", "none"
HOST = "host"  # the path of an array in host memory: nothing is copied
SHARP = 10  # decimal places of a second that are kept


@dataclass(frozen=True)
class TransferPath:
    """Which path the bytes take; "pipelined" in chunks of `chunk` bytes."""

    path: str
    chunk: int = 0

    @property
    def name(self) -> str:
        """The name of the path in tables and legends."""
        return f"{self.path}, {size_text(self.chunk)}" if self.chunk else self.path


@dataclass(frozen=True)
class DeviceTiming:
    """One way of one test with one size: all its repetitions."""

    test: str
    way: TransferPath
    nbytes: int
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class DeviceRun:
    """All that one command measured on one machine."""

    device: str  # GPU, STAND_IN or NO_DEVICE
    about: Mapping[str, str]
    rows: tuple[DeviceTiming, ...]

    @property
    def label(self) -> str:
        """What a picture or a table must say of these numbers."""
        if self.device == GPU:
            return f"recorded on {self.about['GPU']}, {self.about['date']}"
        if self.device == STAND_IN:
            return "stand-in device with a described link: no GPU"
        return "host memory: no GPU"

    def ways(self, test: str) -> list[TransferPath]:
        return list(dict.fromkeys(row.way for row in self.rows if row.test == test))

    def times(self, test: str, way: TransferPath) -> dict[int, np.ndarray]:
        """Seconds of each repetition, by size; empty where it was not measured."""
        return {
            row.nbytes: np.array(row.seconds)
            for row in self.rows
            if (row.test, row.way) == (test, way)
        }

    def measured(self, test: str) -> dict[str, dict[int, Interval]]:
        """What pictures draw: by way and size, the median and its interval."""
        return {
            way.name: {size: interval(times) for size, times in self.times(test, way).items()}
            for way in self.ways(test)
        }


def as_plain(run: DeviceRun) -> dict[str, Any]:
    """What JSON can hold: lists, texts and numbers."""
    rows = [
        asdict(row) | {"seconds": [round(second, SHARP) for second in row.seconds]}
        for row in run.rows
    ]
    return {"format": FORMAT, "device": run.device, "about": dict(run.about), "rows": rows}


def from_plain(data: Any, where: str) -> DeviceRun:
    """The run again; `where` it was found stands in the error if it is none."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{where} is no recorded run of device messages: it lacks {FORMAT!r}")
    rows = tuple(
        DeviceTiming(row["test"], TransferPath(**row["way"]), row["nbytes"], tuple(row["seconds"]))
        for row in data["rows"]
    )
    return DeviceRun(data["device"], data["about"], rows)


def save(path: Path, run: DeviceRun) -> None:
    """Keep a run: one row a line, so that a person can read it too."""
    plain = as_plain(run)
    rows = ",\n  ".join(json.dumps(row) for row in plain.pop("rows"))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f'{json.dumps(plain, indent=1)[:-2]},\n "rows": [\n  {rows}\n ]\n}}\n')


def load(path: Path) -> DeviceRun:
    """Read what `save` wrote."""
    return from_plain(json.loads(Path(path).read_text(encoding="utf-8")), str(path))
