"""Measure results files anew, one benchmark after another, each in a process of its own.

    python -m benchmarks --run [--only pipeline] [--fresh]
    python -m benchmarks --run --quick

A round may take an hour and be interrupted: what has been measured stays (each file is written
whole at its benchmark's end) and is noted in `results/round.json`, and the same command goes on
with the rest, what failed included; --fresh begins anew. Before it begins it says how long each
took the last time, from `results/took.json`.
With --quick every command runs once in its shortest form in a copy of this folder that is thrown
away: it shows that all of them start and end on this machine, and none of its numbers is worth
anything.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.claims import full_name
from benchmarks.recorded import head
from ddl_runtime.records.whole_file import write_whole

ROOT = Path(__file__).parents[1]
QUICK = {
    "allreduce": "--ranks 2 --largest 65536 --repetitions 3",
    "data_parallel": "--repetitions 3",
    "pipelines": "--ranks 2 --repetitions 3",
    "convolutions": "--seconds 1 --only AlexNet --batch 1",
    "recurrence": "--repetitions 1",
    "sparse_allreduce": "--ranks 2 --repetitions 3",
    "simgrid": "--quick",
}
"""The shortest form of each benchmark."""


@dataclass(frozen=True)
class Round:
    """What is to be measured: modules by their words on the command line, in `folder`."""

    words: dict[str, Sequence[str]]
    folder: Path

    @property
    def results(self) -> Path:
        """Where its files stand."""
        return self.folder / "benchmarks" / "results"

    @property
    def done(self) -> list[str]:
        """What an earlier call of this round has measured."""
        return _read(self.results / "round.json", list)


def measure_all(round_: Round, fresh: bool, run: Callable[..., int] | None = None) -> list[str]:
    """Measure all that is left of a round; the modules that could not be.

    `run(command, folder)` gives the exit status of one command.
    """
    run, book = run or _run, round_.results / "round.json"
    if fresh:
        book.unlink(missing_ok=True)
    before = [it for it in round_.done if it in round_.words]
    left = [it for it in round_.words if it not in before]
    print(_plan(round_, before, left), flush=True)
    failed = []
    for module in left:
        command = [sys.executable, "-m", full_name(module), *round_.words[module]]
        shown = " ".join(["python", *command[1:]])
        print(f"\n{module}: {shown}", flush=True)
        begun = time.monotonic()
        try:
            status = run(command, round_.folder)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"Interrupted in {module}. Measured until now: "
                f"{', '.join(round_.done) or 'nothing'}; the same command goes on with the rest"
            ) from None
        if status:
            print(f"{module}: NOT measured, {shown} ended with status {status}; as recorded")
            failed.append(module)
            continue
        _note_time(round_, module, time.monotonic() - begun)
        write_whole(book, json.dumps([*round_.done, module]))
    if not failed:
        book.unlink(missing_ok=True)
    return failed


@contextmanager
def throw_away() -> Iterator[Path]:
    """A copy of the benchmarks in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "benchmarks", Path(folder, "benchmarks"))
        Path(folder, "docs").mkdir()
        Path(folder, "benchmarks", "results", "round.json").unlink(missing_ok=True)
        yield Path(folder)


def _plan(round_: Round, before: Sequence[str], left: Sequence[str]) -> str:
    took = _read(round_.results / "took.json", dict)
    lines = [f"{it}: measured already in this round (--fresh measures it again)" for it in before]
    for module in left:
        last = took.get(module)
        lines.append(
            f"{module}: took {last['seconds'] / 60:.1f} min on {last['date']}, {last['processor']}"
            if last
            else f"{module}: how long it takes was not recorded"
        )
    known = [took[it]["seconds"] for it in left if it in took]
    if known:
        rest = len(left) - len(known)
        more = f", and {rest} of which it is not known" if rest else ""
        lines.append(f"together {sum(known) / 60:.0f} min{more}")
    return "\n".join(lines)


def _note_time(round_: Round, module: str, seconds: float) -> None:
    """How long it took, and where: of a benchmark in full only."""
    file, machine = round_.results / "took.json", head(f"{module}.txt")
    took = _read(file, dict)
    told = {"seconds": round(seconds, 1), **{it: machine[it] for it in ("date", "processor")}}
    write_whole(file, json.dumps({**took, module: told}, indent=1) + "\n")


def _read(file: Path, kind: type) -> list | dict:
    """What a file of notes holds; nothing where there is none."""
    try:
        found = json.loads(file.read_text())
    except FileNotFoundError:
        return kind()
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, kind):
        raise ValueError(f"{file} is no such list: remove it, and the round begins anew")
    return found


def _run(command: Sequence[str], folder: Path) -> int:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    # The folder that it runs in comes first for -m: a copy's benchmarks, the checkout's package.
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
        check=False,
    )
    return done.returncode
