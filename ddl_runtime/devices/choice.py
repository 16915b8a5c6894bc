"""Which way a message takes: the decision, as plain data.

*direct*: the MPI library reads and writes the device's memory itself; only a CUDA-aware one can.
*staged*: one copy into pinned host memory, the message, one copy out of it, one after another.
*pipelined*: the same in chunks, so that one chunk is copied while another travels. Few bytes are
staged, because every chunk pays for its start; the formulas are in `theory.staging`.
"""

import contextlib
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

PATHS = ("direct", "staged", "pipelined")
KEPT_IN = Path("~/.cache/ddl_teach/device_table.json")  # what was measured on this machine
LEAST_IN_CHUNKS = 4001  # bytes; shorter messages have no head that a receiver could tell from them


@dataclass(frozen=True)
class Reach:
    """From `begin` bytes on, messages take this path; "pipelined" in chunks of `chunk` bytes."""

    begin: int
    path: str
    chunk: int = 0


Table = Mapping[str, tuple[Reach, ...]]  # by operation, in the order of `begin`, the first at 0

AWARE: Table = {"message": (Reach(0, "direct"),)}
NOT_AWARE: Table = {
    "message": (
        Reach(0, "staged"),
        Reach(128 << 10, "pipelined", 64 << 10),
        Reach(256 << 10, "pipelined", 128 << 10),
        Reach(1 << 20, "pipelined", 256 << 10),
        Reach(4 << 20, "pipelined", 512 << 10),
        Reach(16 << 20, "pipelined", 1 << 20),
        Reach(64 << 20, "pipelined", 2 << 20),
    )
}


def chosen(table: Table, operation: str, nbytes: int) -> Reach:
    """The last one that begins at `nbytes` or before."""
    reach = [reach for reach in table[operation] if reach.begin <= nbytes][-1]
    if reach.path == "pipelined" and nbytes <= max(reach.chunk, LEAST_IN_CHUNKS - 1):
        return replace(reach, path="staged")  # a pipeline of one chunk
    return reach


def check_table(table: Table) -> None:
    """Refuse a table that leaves a message without a way."""
    for operation, reaches in table.items():
        begins = [reach.begin for reach in reaches]
        if not begins or begins[0] != 0 or begins != sorted(set(begins)):
            raise ValueError(
                f"device_table: sizes of {operation!r} must begin at 0 bytes and grow from row to "
                f"row, not {begins}"
            )
        for reach in reaches:
            if operation == "message":
                check_path(reach.path)
            if reach.path == "pipelined" and reach.chunk < 1:
                raise ValueError(f"device_table: {reach} needs a chunk of at least one byte")
    if "message" not in table:
        raise ValueError(f'device_table: rows for "message" are missing; it has {sorted(table)}')


def check_path(path: str) -> None:
    """Refuse a way that does not exist."""
    if path not in PATHS:
        raise ValueError(f"device_path must be one of {', '.join(PATHS)}; not {path!r}")


@functools.cache
def kept_table(direct: bool) -> Table | None:
    """The table that was kept; None where none was measured, or the file is none."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        plain = json.loads(KEPT_IN.expanduser().read_text())[str(direct)]
        table = {name: tuple(Reach(**reach) for reach in row) for name, row in plain.items()}
        check_table(table)
        return table
    return None


@dataclass
class Preference:
    """What the program of a rank asks for: a table of its own, or one path for all sizes."""

    table: Table | None = None
    path: str | None = None
    device: str | None = None  # as torch calls it

    def reach(self, nbytes: int, direct: bool, measured: Table | None = None) -> Reach:
        """The way of a message of `nbytes`. `direct`: MPI can read the device's memory.
        `measured`: the device's own table."""
        table = self.table or measured or (AWARE if direct else NOT_AWARE)
        if self.path == "pipelined":  # in chunks as the table has them, from the least on
            chunked = [reach for reach in table["message"] if reach.chunk]
            chunked = chunked or [reach for reach in NOT_AWARE["message"] if reach.chunk]
            table = {"message": (replace(chunked[0], begin=0), *chunked[1:])}
        elif self.path is not None:
            table = {"message": (Reach(0, self.path),)}
        return chosen(table, "message", nbytes)
