"""What a program changes in its process, it changes for itself.

Real ranks run one program after another. Working directory, environment, signal handlers and the
way to the launcher's screen are after each program what they were before it.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from typing import TextIO

SIGNALS = (signal.SIGUSR1, signal.SIGINT, signal.SIGTERM, signal.SIGALRM)


class AtOnce(io.TextIOWrapper):
    """A rank's standard output or error: what is written goes out before its line has ended."""

    def __init__(self, number: int) -> None:
        way = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        super().__init__(way, "utf-8", "backslashreplace", line_buffering=True)

    def write(self, text: str) -> int:
        count = super().write(text)
        if not text.endswith("\n"):
            self.flush()
        return count


@contextlib.contextmanager
def surroundings_kept() -> Iterator[None]:
    """Put everything back where it was; for the main thread."""
    folder = os.open(".", os.O_RDONLY)  # found again even where it has been renamed
    outputs = {number: os.dup(number) for number in (1, 2)}
    streams = sys.stdout, sys.stderr
    environment = dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    try:
        yield
    finally:
        os.fchdir(folder)
        os.close(folder)
        for number, descriptor in outputs.items():
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdout, sys.stderr = _open(streams[0], 1), _open(streams[1], 2)
        if os.environ != environment:
            os.environ.clear()
            os.environ.update(environment)
        signal.alarm(0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _open(stream: TextIO, number: int) -> TextIO:
    """The stream, or another in its place if it has been closed."""
    if not stream.closed:
        return stream
    return AtOnce(number)
