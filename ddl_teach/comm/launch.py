"""Real ranks: run a program on MPI processes of this machine.

`launch` starts processes, runs one program and ends them; `Ranks` keeps them for many programs.
The launcher itself is no rank: it listens to all of them, prints what they print, notices who
raised first or died, and finds out from their reports who waits for whom. However a program ends,
the processes are either ready for the next one or gone.
"""

from __future__ import annotations

import contextlib
import numbers
import pickle
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge, wait
from pathlib import Path
from typing import Any

from ddl_teach.comm import processes
from ddl_teach.comm.interface import check_rank_count
from ddl_teach.comm.run import Run
from ddl_teach.comm.shipping import ship
from ddl_teach.comm.story import StoryError
from ddl_teach.comm.watch import Line, Watch

START_LIMIT = 60  # seconds until all processes must have said hello


class Ranks:
    """MPI processes that run one program after another.

    >>> with Ranks(4) as ranks:                       # doctest: +SKIP
    ...     ranks.run(program).results
    """

    def __init__(self, ranks: int = 4) -> None:
        self.size = check_rank_count(ranks)
        self._lines: list[Line] = []
        self._mpiexec: Any = None
        self._busy = threading.Lock()

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self,
        program: Callable[..., Any],
        ranks: int | None = None,
        *,
        timeout: float = 60,
        trace: bool = True,
        **kwargs: Any,
    ) -> Run:
        """Run `program(comm, **kwargs)` on the first `ranks` of the processes, or on all.

        One program at a time: a call from another thread waits until this one is over.
        """
        count = self.size if ranks is None else check_rank_count(ranks)
        if count > self.size:
            raise ValueError(f"there are {self.size} processes: ranks must be 1 to {self.size}")
        if isinstance(timeout, bool) or not isinstance(timeout, numbers.Real):
            raise TypeError(f"timeout must be a number of seconds, not {timeout!r}")
        if not timeout > 0:
            raise ValueError(f"timeout must be a positive number of seconds, not {timeout!r}")
        payload = ship(program, kwargs)
        with self._busy:
            if self._mpiexec is not None and self._mpiexec.poll() is not None:
                self._kill()  # they have died since the last program
            if self._mpiexec is None:
                self._start()
            return self._run(Watch(self._lines[:count], self._mpiexec, timeout), trace, payload)

    def _run(self, watch: Watch, trace: bool, payload: bytes) -> Run:
        ready = False
        try:
            try:
                for line in watch.lines:
                    line.tell("run", len(watch.lines), trace, sys.path, payload)
                return watch.until_the_end()
            finally:
                ready = watch.quiet()
        finally:
            if not ready:  # also when a second Ctrl-C came before all were quiet
                self._kill()

    def close(self) -> None:
        """End the processes."""
        with self._busy:
            if self._mpiexec is None:
                return
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                for line in self._lines:
                    line.tell("quit")
                self._mpiexec.wait(timeout=3)
            self._kill()

    def _start(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="ddl-"))
        key = secrets.token_bytes(32)
        address = str(folder / "line")
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(address)
            door.listen(2 * self.size)
            words = ["-m", "ddl_teach.comm.worker", address]
            self._mpiexec = processes.start(self.size, words, {"DDL_TEACH_KEY": key.hex()})
            by_pid: dict[int, Line] = {}
            try:
                self._greet(door, key, by_pid)
            except BaseException:
                self._lines = list(by_pid.values())
                self._kill()
                raise
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        self._lines = sorted(by_pid.values(), key=lambda line: line.rank)

    def _greet(self, door: socket.socket, key: bytes, by_pid: dict[int, Line]) -> None:
        """Let every rank in, on both its lines, and hear which rank it is."""
        deadline = time.monotonic() + START_LIMIT
        for _ in range(2 * self.size):
            while not wait([door], timeout=0.1):
                if self._mpiexec.poll() is not None or time.monotonic() > deadline:
                    raise self._start_failure(by_pid)
            line_end = Connection(door.accept()[0].detach())
            deliver_challenge(line_end, key)
            answer_challenge(line_end, key)
            what, pid = line_end.recv()
            setattr(by_pid.setdefault(pid, Line(pid)), what, line_end)
        for line in by_pid.values():
            if not line.control.poll(max(0.0, deadline - time.monotonic())):
                raise self._start_failure(by_pid)
            try:
                _, line.rank, size = pickle.loads(line.control.recv_bytes())
            except EOFError:
                raise self._start_failure(by_pid) from None
            if size != self.size:
                raise StoryError(
                    f"a process started with {processes.mpiexec_path()} believes to be one of "
                    f"{size} instead of {self.size}: mpi4py and mpiexec belong to different MPI "
                    "libraries. `ddl-teach doctor` says which."
                )

    def _start_failure(self, by_pid: dict[int, Line]) -> StoryError:
        for line in by_pid.values():
            if line.output is not None:
                line.drain_output()
        said = processes.kill(self._mpiexec, list(by_pid)).strip()
        return StoryError(
            f"{self.size} MPI processes could not be started; {len(by_pid)} of them answered."
            + (f" The launcher said:\n\n{said}\n" if said else "\n")
            + "\nRun `ddl-teach doctor` to find out why."
        )

    def _kill(self) -> None:
        if self._mpiexec is not None:
            processes.kill(self._mpiexec, [line.pid for line in self._lines])
        for line in self._lines:
            line.close()
        self._lines, self._mpiexec = [], None


def launch(
    program: Callable[..., Any],
    ranks: int = 4,
    *,
    timeout: float = 60,
    trace: bool = True,
    **kwargs: Any,
) -> Run:
    """Run `program(comm, **kwargs)` on real MPI processes of this machine.

    What the ranks print appears with the rank in front. `timeout` seconds after its start a
    program that is not done is stopped, and the error says where every rank was. Without `trace`
    no timeline is recorded. The processes are gone when this returns or raises.
    """
    with Ranks(ranks) as processes_kept:
        return processes_kept.run(program, timeout=timeout, trace=trace, **kwargs)
