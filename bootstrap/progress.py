"""What is going on, in one line: rewritten on a terminal, elsewhere repeated now and then."""

import os
import shutil
import sys
import time

SECONDS_BETWEEN_PLAIN_LINES = 15


class Progress:
    """Show the state of one long task and the seconds it has taken so far."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._started = time.monotonic()
        self._next_plain_line = self._started
        self._rewrites = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, state: str = "") -> None:
        """Say how far the task is; cheap enough to be called many times a second."""
        now = time.monotonic()
        line = f"{self._task}{': ' if state else ''}{state}  [{now - self._started:.0f} s]"
        if self._rewrites:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{line[:width]}", end="", flush=True)
        elif now >= self._next_plain_line:
            self._next_plain_line = now + SECONDS_BETWEEN_PLAIN_LINES
            print(line, flush=True)

    def end(self, outcome: str) -> None:
        """Leave one last line that stays."""
        beginning = "\r\033[K" if self._rewrites else ""
        seconds = time.monotonic() - self._started
        print(f"{beginning}{self._task}: {outcome}  [{seconds:.0f} s]", flush=True)
