"""The launcher's end of the lines to one rank.

One line carries orders and reports. One carries what the rank prints, taken from its file
descriptors, so that the last words of a crash arrive as well. A third stays silent until a rank
that does not answer is asked where it is.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from multiprocessing.connection import Connection, wait
from typing import Any

MOST_READS = 64  # more than lies in a line, however fast the rank prints
STACK_ENDS = (b"in _run_module_as_main\n", b"  ...\n")  # its outermost line, or too many of them


class Line:
    """The connections to one rank, and what is known about it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.rank = -1
        self.control: Connection | None = None
        self.output: Connection | None = None
        self.stack: Connection | None = None
        self._begun = b""  # a line of output that has not ended yet

    @property
    def gone(self) -> bool:
        """Whether the rank has hung up."""
        watcher = select.poll()
        watcher.register(self.control.fileno(), 0)
        return any(event & select.POLLHUP for _, event in watcher.poll(0))

    def tell(self, *order: Any) -> None:
        """Give the rank an order; a rank that is gone is noticed elsewhere."""
        with contextlib.suppress(OSError):
            self.control.send(order)

    def read_output(self) -> bool:
        """Take what the rank has printed; False when it is the end."""
        try:
            text = os.read(self.output.fileno(), 1 << 16)
        except OSError:
            text = b""
        self.hear(text)
        if not text and self._begun:
            self.hear(b"\n")  # its last words, cut short
        return bool(text)

    def drain_output(self) -> None:
        """Take what has come so far, whole lines or not; not what comes meanwhile."""
        for _ in range(MOST_READS):
            if not (wait([self.output], timeout=0) and self.read_output()):
                break
        if self._begun:
            self.hear(b"\n")

    def hear(self, text: bytes) -> None:
        """The rank has printed something: show the whole lines, each with its rank."""
        *whole, self._begun = (self._begun + text).split(b"\n")
        for line in whole:
            print(f"[{self.rank}] {line.decode(errors='replace')}", flush=True)

    def ask_for_stack(self) -> None:
        """Have the rank's stack written on its third line, even from within compiled code."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR2)

    def read_stack(self, patience: float) -> str:
        """What came of asking for it, or of a crash, within so many seconds."""
        text = b""
        until = time.monotonic() + patience
        while not text.endswith(STACK_ENDS) and wait([self.stack], until - time.monotonic()):
            more = os.read(self.stack.fileno(), 1 << 16)
            if not more:
                break
            text += more
        return text.decode(errors="replace")

    def close(self) -> None:
        """Hang up."""
        for connection in (self.control, self.output, self.stack):
            if connection is not None:
                connection.close()
