"""What the learner has done, kept over the whole course in one small file.

It lies in Jupyter's data folder of this user, as `ddl-teach/progress.json`; the environment
variable DDL_TEACH_DATA names another folder. It is written whole or not at all, by one kernel
after another; a file that cannot be read is put aside, never overwritten.
"""

import contextlib
import fcntl
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_data_dir

from ddl_runtime.records.whole_file import write_whole

PATIENCE = 3.0  # seconds to wait for another kernel that writes
KINDS = ("exercises", "predictions", "reviews")

Record = dict[str, dict[str, dict[str, Any]]]
"""By kind and name: what is known of each exercise, prediction and question of a review."""


def folder() -> Path:
    """Where the record is kept."""
    moved = os.environ.get("DDL_TEACH_DATA")
    return Path(moved) if moved else Path(jupyter_data_dir()) / "ddl-teach"


def read() -> Record:
    """What has been recorded so far."""
    path = folder() / "progress.json"
    try:
        return _parse(path.read_bytes())
    except OSError:
        return _parse(b"{}")
    except ValueError:
        aside = path.with_name(f"progress-unreadable-{time.time_ns()}.json")
        with contextlib.suppress(OSError):
            path.rename(aside)
            _warn(f"Your progress could not be read and begins anew; the old file is {aside}.")
        return _parse(b"{}")


@contextlib.contextmanager
def changing() -> Iterator[Record]:
    """`with changing() as record:` changes in place what is recorded.

    A full disk must not stop a lesson: where nothing can be kept there is only a warning.
    """
    where = folder()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # then the writing says what is wrong
            where.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_alone(where))
        record = read()
        yield record
        try:
            text = json.dumps(record, indent=1, sort_keys=True)
            write_whole(where / "progress.json", text, mode=0o600)
        except OSError as error:
            _warn(f"Your progress could not be kept: {error}")


def of(record: Record, kind: str, name: str) -> dict[str, Any]:
    """What is known of one exercise, prediction or question, to be changed in place."""
    return record[kind].setdefault(name, {})


def today() -> date:
    """The day under which something is recorded."""
    return date.today()


def _parse(text: bytes) -> Record:
    result = json.loads(text)
    if not isinstance(result, dict):
        raise ValueError("no record")
    record = {kind: result.get(kind, {}) for kind in KINDS}
    for entries in record.values():
        if not (isinstance(entries, dict) and all(isinstance(e, dict) for e in entries.values())):
            raise ValueError("no record")
    return record


@contextlib.contextmanager
def _alone(where: Path) -> Iterator[None]:
    """One writer at a time; a kernel that was stopped while it wrote delays others briefly."""
    with open(where / "progress.lock", "w") as lock:
        # A browser has no locks, and one kernel.
        end = time.monotonic() + (0 if sys.platform == "emscripten" else PATIENCE)
        while time.monotonic() < end:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
        yield


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)
