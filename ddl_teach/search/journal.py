"""The journal of a search: what has happened, line by line, so that a killed one can go on.

    {"search": "SuccessiveHalving(space=..., trials=27, ...)"}
    {"begun": [7, 0], "steps": 10, "settings": {"rate": 0.12}, "worker": 3, "seconds": 0.5}
    {"done": [7, 0], "loss": 0.81, "seconds": 1.25}              or "crashed", with an "error"

A decider is a function of the order of these events: told them again, it stands where it stood.
That is the whole of resuming. A line counts once its newline is on the disk; a process killed in
the middle of one leaves a half line, which is cut off. The state after trial 7's rung 0 lies
beside it, in `7-0.npz`, and is on the disk before the line is: one without a line is never read.
What to look at: `tail -f events.jsonl` while a search runs; kill it and start it again.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

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
            # A process that is killed lets go of it.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        except BlockingIOError:
            self.close()
            raise RuntimeError(
                f"another search is writing its journal in {self.folder}: let it end, or take "
                "another folder"
            ) from None
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
        with open(self._state(trial, rung), "wb") as file:
            file.write(packed.tobytes())
            file.flush()
            os.fsync(file.fileno())

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
