"""The MPI processes behind `launch`, `Ranks` and the engines of a notebook.

One mpiexec starts all, and they connect back to us, each on its lines. The socket for this is gone
as soon as all are in. It stands in a folder of our own, where mpiexec has its files as well: in
the common folder those of one that was killed would stay behind, and stop a later mpiexec that
happens to get its number. No process outlives us: each that sees its line end leaves, and the
reaper ends those that cannot look.
"""

import contextlib
import os
import pickle
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path

from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.launcher import mpiexec as processes
from ddl_runtime.launcher.door import Door
from ddl_runtime.launcher.mpiexec import SharedHosts
from ddl_runtime.launcher.pipe import RankPipe, Screen

LINES = 3  # to each rank
START_LIMIT = 60  # seconds until all processes must have said hello

REAPER = Path(__file__).with_name("reaper.sh").read_text("utf-8")


class Reaper:
    """A small process that ends the ranks, and their folder, when their launcher has gone: also
    ranks that are stopped, or deep in compiled code. It reads from a pipe that only the launcher
    holds, and the pipe's end is the launcher's end, whatever killed it."""

    def __init__(self, folder: Path) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", REAPER, "ddl-teach reaper", str(folder)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch_over(self, pids: Iterable[int]) -> None:
        """These are the processes now, mpiexec first."""
        self._say(" ".join(map(str, pids)))

    def dismiss(self) -> None:
        self._say("ended")
        self._shell.communicate()

    def _say(self, line: str) -> None:
        with contextlib.suppress(OSError):  # the reaper itself was ended
            self._shell.stdin.write(f"{line}\n".encode())


class ProcessPool:
    """`size` processes that run `module`, as `python -m` would; they exist from `start` on."""

    def __init__(
        self,
        size: int,
        module: str = "ddl_runtime.launcher.worker",
        line: Callable[[int, Screen], RankPipe] = RankPipe,
        environment: Mapping[str, str] | None = None,
        on: SharedHosts | None = None,
        survivors: bool = False,
    ) -> None:
        self.size = size
        self.lines: list[RankPipe] = []
        self.mpiexec: subprocess.Popen | None = None
        self._module = module
        self._line = line
        self.screen = Screen()
        self._environment = dict(environment or {})
        self.place = on
        self._survivors = survivors
        self._reaper: Reaper | None = None
        self._folder = Path()

    @property
    def alive(self) -> bool:
        """Whether the processes run; one that dies takes the others with it, a moment later."""
        runs = self.mpiexec is not None and self.mpiexec.poll() is None
        return runs and not any(line.gone for line in self.lines)

    def start(self, progress: Callable[[float], None] = lambda part: None) -> None:
        """Start all processes, or raise the diagnosis of why they do not; `progress` is called
        with the part that is done."""
        shared, at = None, None
        if self.place is not None:
            shared, at = self.place.folder, self.place.listens_at
        self._folder = folder = Path(tempfile.mkdtemp(prefix="ddl-", dir=shared))
        self._reaper = Reaper(folder)
        key = secrets.token_bytes(32)
        callers: dict[Hashable, RankPipe] = {}
        try:
            with Door(folder, at, key) as door:
                settings = self._environment | {"DDL_TEACH_KEY": key.hex()}
                words = ["-m", self._module, door.address]
                self.mpiexec = processes.start(
                    self.size, words, settings, folder, self.place, self._survivors
                )
                self._reaper.watch_over([self.mpiexec.pid])
                self._greet(door, callers, progress)
            if self.place is None:
                processes.keep_to_loopback(self.mpiexec)
            here = [line.pid for line in callers.values() if line.pid]
            self._reaper.watch_over([self.mpiexec.pid, *here])
        except BaseException:
            self.lines = list(callers.values())
            self.kill()
            raise
        self.lines = sorted(callers.values(), key=lambda line: line.rank)

    def _greet(
        self, door: Door, callers: dict[Hashable, RankPipe], progress: Callable[[float], None]
    ) -> None:
        """Accept the connections of every rank, and receive its number."""
        limit = START_LIMIT if self.place is None else self.place.start_limit
        deadline = time.monotonic() + limit
        entered = 0
        while entered < LINES * self.size:
            progress(entered / self.size / (LINES + 1))
            while not door.knocked(0.1):
                if not self.alive or time.monotonic() > deadline:
                    raise self._start_failure(callers)
            if (caller := door.let_in()) is not None:
                line = callers.setdefault(caller.who, self._line(caller.pid, self.screen))
                setattr(line, caller.name, caller.line_end)
                entered += 1
        for ready, line in enumerate(callers.values()):
            progress((LINES + ready / self.size) / (LINES + 1))
            if not line.control.poll(max(0.0, deadline - time.monotonic())):
                raise self._start_failure(callers)
            try:
                _, line.rank, size = pickle.loads(line.control.recv_bytes())
            except EOFError:
                raise self._start_failure(callers) from None
            if size != self.size:
                raise DiagnosedError(
                    f"a process started with {processes.mpiexec_path()} believes to be one of "
                    f"{size} instead of {self.size}: mpi4py and mpiexec belong to different MPI "
                    "libraries. `ddl-teach doctor` says which. For an MPI of the system's own, "
                    "cluster_setup/system_mpi builds the course's mpi4py against it."
                )
        progress(1.0)

    def _start_failure(self, callers: dict[Hashable, RankPipe]) -> DiagnosedError:
        for line in callers.values():
            if line.output is not None:
                line.drain_output()
        pids = [line.pid for line in callers.values() if line.pid]
        output = processes.kill(self.mpiexec, pids, self._folder, self.place).strip()
        ask = "ddl-teach doctor" if self.place is None else self.place.cure
        return DiagnosedError(
            f"{self.size} MPI processes could not be started; {len(callers)} of them answered."
            + (f" The launcher said:\n\n{output}\n" if output else "\n")
            + f"\nRun `{ask}` to find out why."
        )

    def dismiss(self) -> None:
        """Let the processes go, and end those that do not."""
        if self.mpiexec is None:
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            for line in self.lines:
                line.tell("quit")
            self.mpiexec.wait(timeout=3)
        self.kill()

    def kill(self) -> None:
        """End the processes, whatever they do."""
        if self.mpiexec is not None:
            if len(self.lines) < self.size:  # the others are known to mpiexec only
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.mpiexec.pid, signal.SIGTERM)
            pids = [line.pid for line in self.lines if line.pid]
            processes.kill(self.mpiexec, pids, self._folder, self.place)
        if self._reaper is not None:
            self._reaper.dismiss()
        for line in self.lines:
            line.close()
        self.lines, self.mpiexec, self._reaper = [], None, None
