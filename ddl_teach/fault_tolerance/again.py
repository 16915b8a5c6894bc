"""Start a program again until it is done: a long run needs this on a laptop and on a cluster.

    ddl-teach again -- mpiexec -n 4 python program.py

- It crashed: start it again; it resumes from its checkpoints. First at once, then after 1, 2, 4,
  ... seconds, for a node may come back; but not for ever: a mistake crashes each time.
  Crashes are counted since the last progress: since there was a checkpoint of a later step.
- It was asked to stop (it ends with status AGAIN): start it again, as often as that happens.
- A batch system asks this program to stop: send SIGUSR1 to the command, wait until it has ended,
  and end with status AGAIN. mpiexec and srun pass SIGUSR1 on to every rank; at SIGTERM they would
  end the ranks.

What to look at: mpiexec may end with status 0 although a node went away. `until` asks for proof: a
file that the program writes, whole or not at all, when it is done.
"""

import functools
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from ddl_teach.fault_tolerance.checkpoints import steps
from ddl_teach.fault_tolerance.preemption import AGAIN, SIGNALS

CRASHES = 6  # the pauses between them are half a minute in all
GLANCE = 0.05  # seconds between two looks, in a pause, whether we are asked to go


class Again:
    """Starts a command again and again until it is done, after at most `crashes` crashes between
    which no checkpoint of a later step has come. Those are looked for in `checkpoints`, or else
    where `until` is."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        until: Path | None = None,
        checkpoints: Path | None = None,
        crashes: int = CRASHES,
        pause: float = 1.0,
        tell: Callable[[str], None] = functools.partial(print, flush=True),  # among its words
    ) -> None:
        self._command, self._until = list(command), until
        self._checkpoints = until.parent if checkpoints is None and until else checkpoints
        self._crashes, self._pause, self._tell = crashes, pause, tell
        self._running: subprocess.Popen[bytes] | None = None
        self.asked: set[int] = set()  # to go, by these signals

    def run(self) -> int:
        """The exit status: 0 if the command was done, AGAIN if this program was asked to stop
        before, else the command's last one."""
        earlier = {number: signal.signal(number, self._pass_on) for number in SIGNALS}
        try:
            return self._until_done()
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)

    def _until_done(self) -> int:
        crashed, step = 0, self._step()
        while not self.asked:
            if self._proven():
                self._tell(f"{self._until} is there already, so it is done: nothing is started.")
                return 0
            self._running = subprocess.Popen(self._command)
            if self.asked:  # in the moment before
                self._running.send_signal(signal.SIGUSR1)
            status = self._running.wait()
            if self._proven() or (self._until is None and status == 0):
                return 0  # also if it was asked to go in its last step
            if self.asked or status == AGAIN:
                self._tell(f"It was asked to go, and ended with status {status}.")
                continue
            before, step = step, max(step, self._step())
            crashed = 1 if step > before else crashed + 1
            lacking = f" without having written {self._until}" if status == 0 else ""
            ended = f"It ended with status {status}{lacking}"
            if crashed > self._crashes:
                since = f" since step {step}" if step >= 0 else " in all"
                self._tell(f"{ended}, {crashed} times{since}: look into what it said.")
                return status or 1
            self._tell(f"{ended}. It is started again, {crashed} of {self._crashes}.")
            # This wait holds no lock: a signal's handler that needed the same lock, on the same
            # thread, would wait for ever.
            pause = self._pause * 2 ** (crashed - 2) if crashed > 1 else 0.0
            ends = time.monotonic() + pause
            while not self.asked and time.monotonic() < ends:
                time.sleep(min(GLANCE, pause))
        return AGAIN

    def _proven(self) -> bool:
        return self._until is not None and self._until.exists()

    def _step(self) -> int:
        """The latest step that has a checkpoint; -1 where there is none."""
        if self._checkpoints is None:
            return -1
        folders = self._checkpoints, *self._checkpoints.glob("*/")  # each rank may have its own
        return max((step for folder in folders for step in steps(folder)), default=-1)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        self.asked.add(number)
        if self._running is not None:
            self._running.send_signal(signal.SIGUSR1)
