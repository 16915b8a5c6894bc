"""The journal of a search: what has happened, line by line, so that a killed one can go on.

    {"search": "SuccessiveHalving(space=..., trials=27, ...)"}
    {"begun": [7, 0], "steps": 10, "settings": {"rate": 0.12}, "worker": 3, "seconds": 0.5}
    {"done": [7, 0], "loss": 0.81, "seconds": 1.25}              or "crashed", with an "error"

A decider is a function of the order of these events: given them again, it is in the same state. A
line counts once its newline is on the disk; a half line that a killed process left is cut off. The
state after trial 7's rung 0 lies beside it, in `7-0.npz`, and is on the disk before the line is.
What to look at: `tail -f events.jsonl` while a search runs; kill it and start it again.
"""

import fcntl
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ddl_runtime.records.whole_file import write_whole
from ddl_teach.collectives import tree
from ddl_teach.collectives.bruck import allgather
from ddl_teach.comm import Comm

Event = dict[str, Any]


class Journal:
    """A folder for one search; made where it is not there yet."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._path = self.folder / "events.jsonl"

    def open(self, search: str) -> list[Event]:
        """What has happened so far in this `search`, described by itself; nothing in a new one."""
        if self.folder.is_file():
            raise NotADirectoryError(f"a journal is a folder, and {self.folder} is a file")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = open(self._path, "a+b")  # noqa: SIM115 -- open as long as the search runs
        try:
            try:  # a process that is killed lets go of it
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                busy = f"another search is writing its journal in {self.folder}"
                raise RuntimeError(f"{busy}: let it end, or take another folder") from None
            events = self._read()
            if not events:
                events.append({"search": search})
                self.write(events[0])
            if events[0] != {"search": search}:
                raise ValueError(
                    f"the journal in {self.folder} is of another search:\n    "
                    f"{events[0].get('search', events[0])}\nand this one is\n    {search}\nGive "
                    "the same settings and seed to go on with it, or another folder to begin anew"
                )
        except BaseException:
            self.close()
            raise
        return events[1:]

    def _read(self) -> list[Event]:
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        if lines[-1]:  # what a kill left of the last one
            self._file.truncate(self._file.tell() - len(lines[-1]))
        events = []
        for number, line in enumerate(lines[:-1], 1):
            try:
                events.append(dict(json.loads(line)))
            except ValueError:
                raise ValueError(
                    f"line {number} of {self._path} is no line of a journal: {line[:60]!r}. "
                    "Remove it and all after it, and the search goes on from there"
                ) from None
        return events

    def write(self, event: Event) -> None:
        """Add a line; on return it is on the disk."""
        self._file.write(json.dumps(event, default=repr).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def keep(self, trial: int, rung: int, packed: np.ndarray) -> None:
        """Put a state beside the journal; on return it is on the disk."""
        write_whole(self._state(trial, rung), packed.tobytes())

    def state(self, trial: int, rung: int) -> np.ndarray:
        """A state that was kept, packed."""
        try:
            return np.fromfile(self._state(trial, rung), np.uint8)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{self._path} says that rung {rung} of trial {trial} is done, but its state "
                f"{self._state(trial, rung).name} is gone: begin anew in another folder"
            ) from None

    def forget(self, trial: int, rung: int) -> None:
        """Remove a state that no job goes on from."""
        self._state(trial, rung).unlink(missing_ok=True)

    def _state(self, trial: int, rung: int) -> Path:
        return self.folder / f"{trial}-{rung}.npz"

    def close(self) -> None:
        """Let another search write here."""
        self._file.close()


class Generations:
    """The journal of a population, a `population.Kept`: what its ranks need after a kill.

        {"losses": [0.41, null, ...]}        a line for each generation; null: this member crashed

    All settings, and which member copied which, follow from the losses and the seed. Each state is
    written by the rank that has trained it, into a folder that all ranks see. After the all-gather
    of the losses all states are on the disk, and rank 0 writes the line. A journal that was begun
    on three ranks can be continued on five.
    """

    def __init__(self, folder: str | os.PathLike[str], comm: Comm, members: int) -> None:
        self._comm, self._members = comm, members
        self._journal, self._writes = Journal(folder), comm.rank == 0

    def before(self, search: str) -> list[np.ndarray]:
        lines = []
        if self._writes:
            lines = [event["losses"] for event in self._journal.open(search)]
        count = np.array([len(lines)])
        tree.broadcast(self._comm, count)
        losses = np.empty((int(count[0]), self._members))
        if self._writes:
            losses[:] = np.array(lines, float).reshape(losses.shape)
        tree.broadcast(self._comm, losses)
        return [np.where(np.isnan(row), np.inf, row) for row in losses]

    def states(
        self, generation: int, losses: np.ndarray, mine: range
    ) -> dict[int, np.ndarray | None]:
        return {
            member: self._journal.state(member, generation) if losses[member] < np.inf else None
            for member in mine
        }

    def ended(
        self, generation: int, losses: np.ndarray, states: Mapping[int, np.ndarray | None]
    ) -> None:
        for member, state in states.items():
            if state is not None:
                self._journal.keep(member, generation, state)
        allgather(self._comm, losses)
        if self._writes:
            row = [loss if math.isfinite(loss) else None for loss in losses.tolist()]
            self._journal.write({"losses": row})
        for member in states:
            # Not the one before: rank 0 may be killed before its line of this one is there.
            self._journal.forget(member, generation - 2)

    def close(self) -> None:
        if self._writes:
            self._journal.close()
