"""The MPI processes behind `launch`, `Ranks` and the engines of a notebook.

All are started together by one mpiexec and connect back to us, each on its lines, through a socket
that is gone as soon as everybody is in. It stands in a folder of our own, where mpiexec has its
files as well: in the common folder for temporary files those of one that was killed stay behind,
and stop a later mpiexec that happens to get its number. No process outlives us: whoever sees its
line end leaves, and a guard ends those that cannot even look.
"""

import contextlib
import os
import pickle
import secrets
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge, wait
from pathlib import Path

from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.launcher import mpiexec as processes
from ddl_runtime.launcher.mpiexec import SharedHosts
from ddl_runtime.launcher.pipe import RankPipe, Screen
from ddl_runtime.launcher.reaper import Reaper

LINES = 3  # to each rank
START_LIMIT = 60  # seconds until all processes must have said hello


class ProcessPool:
    """So many processes, or none yet. `module` is what they run, as `python -m` would."""

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
        self._guard: Reaper | None = None
        self._folder = Path()

    @property
    def alive(self) -> bool:
        """Whether the processes run; one that dies takes the others with it, a moment later."""
        runs = self.mpiexec is not None and self.mpiexec.poll() is None
        return runs and not any(line.gone for line in self.lines)

    def start(self, progress: Callable[[float], None] = lambda part: None) -> None:
        """Start them all, or raise the story of why not; `progress` is told the part that is
        done."""
        shared = None if self.place is None else self.place.folder
        self._folder = folder = Path(tempfile.mkdtemp(prefix="ddl-", dir=shared))
        self._guard = Reaper(folder)
        key = secrets.token_bytes(32)
        address = folder / "line"
        by_pid: dict[int, RankPipe] = {}
        try:
            with socket.socket(socket.AF_UNIX) as door:
                door.bind(str(address))
                door.listen(LINES * self.size)
                settings = self._environment | {"DDL_TEACH_KEY": key.hex()}
                words = ["-m", self._module, str(address)]
                self.mpiexec = processes.start(
                    self.size, words, settings, folder, self.place, self._survivors
                )
                self._guard.watch_over([self.mpiexec.pid])
                self._greet(door, key, by_pid, progress)
            self._guard.watch_over([self.mpiexec.pid, *by_pid])
        except BaseException:
            self.lines = list(by_pid.values())
            self.kill()
            raise
        finally:
            address.unlink(missing_ok=True)
        self.lines = sorted(by_pid.values(), key=lambda line: line.rank)

    def _greet(
        self,
        door: socket.socket,
        key: bytes,
        by_pid: dict[int, RankPipe],
        progress: Callable[[float], None],
    ) -> None:
        """Let every rank in, on all its lines, and hear which rank it is."""
        deadline = time.monotonic() + START_LIMIT
        for entered in range(LINES * self.size):
            progress(entered / self.size / (LINES + 1))
            while not wait([door], timeout=0.1):
                if not self.alive or time.monotonic() > deadline:
                    raise self._start_failure(by_pid)
            caller = door.accept()[0]
            number = _process_number(caller)
            line_end = Connection(caller.detach())
            deliver_challenge(line_end, key)
            answer_challenge(line_end, key)
            what, told = line_end.recv()
            pid = number or told
            setattr(by_pid.setdefault(pid, self._line(pid, self.screen)), what, line_end)
        for ready, line in enumerate(by_pid.values()):
            progress((LINES + ready / self.size) / (LINES + 1))
            if not line.control.poll(max(0.0, deadline - time.monotonic())):
                raise self._start_failure(by_pid)
            try:
                _, line.rank, size = pickle.loads(line.control.recv_bytes())
            except EOFError:
                raise self._start_failure(by_pid) from None
            if size != self.size:
                raise DiagnosedError(
                    f"a process started with {processes.mpiexec_path()} believes to be one of "
                    f"{size} instead of {self.size}: mpi4py and mpiexec belong to different MPI "
                    "libraries. `ddl-teach doctor` says which."
                )
        progress(1.0)

    def _start_failure(self, by_pid: dict[int, RankPipe]) -> DiagnosedError:
        for line in by_pid.values():
            if line.output is not None:
                line.drain_output()
        said = processes.kill(self.mpiexec, by_pid, self._folder, self.place).strip()
        return DiagnosedError(
            f"{self.size} MPI processes could not be started; {len(by_pid)} of them answered."
            + (f" The launcher said:\n\n{said}\n" if said else "\n")
            + "\nRun `ddl-teach doctor` to find out why."
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
            pids = [line.pid for line in self.lines]
            processes.kill(self.mpiexec, pids, self._folder, self.place)
        if self._guard is not None:
            self._guard.dismiss()
        for line in self.lines:
            line.close()
        self.lines, self.mpiexec, self._guard = [], None, None


def _process_number(caller: socket.socket) -> int:
    """The caller's process number as it is here, or 0 where the system does not say: on a node
    with a process table of its own, it knows itself by another."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    peer = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", peer)[0]
