"""Watching over what a notebook asks of its ranks: as `launch` does, and outputs are kept.

What the ranks print stands there when all have ended, in rank order, and each rank's figures
between the lines that were printed around them. Until then the newest line is previewed, whichever
rank printed it.
"""

from __future__ import annotations

from typing import Any

from ddl_class.engines.outputs import Output, without_marks
from ddl_class.engines.progress import watched
from ddl_runtime.launcher.pipe import Line, Screen
from ddl_runtime.launcher.watchdog import Watch


class EngineLine(Line):
    """The connections to one engine; what it printed and displayed is kept."""

    preview_after = 1.0  # shorter cells show all at once

    def __init__(self, pid: int, screen: Screen) -> None:
        super().__init__(pid, screen)
        self.kept = Output()
        self._ended = ""

    def hear(self, text: bytes) -> None:
        self.kept.write(text)
        super().hear(text)

    def show(self, line: str) -> None:
        """A line has ended: kept already, and to be previewed as one that goes on."""
        self._ended = line
        self.note_news()

    def preview(self) -> None:
        if watched():
            super().preview()

    def begin(self) -> None:
        """A new cell."""
        self.kept, self._ended, self._unseen_since = Output(), "", None

    def newest(self) -> str:
        return without_marks(super().newest()) or without_marks(self._ended)


class ProgramWatch(Watch):
    """One program on the engines."""

    stop_limit = 1.5  # their variables are worth a little patience
    afterwards = ""  # what becomes of the engines is told for all failures alike

    def take(self, line: EngineLine, kind: str, said: list) -> None:
        if kind == "shown":
            line.kept.show(*said)
        else:
            super().take(line, kind, said)


class CellWatch(ProgramWatch):
    """One cell, or another order to all shells; gives what each of them answered."""

    advice = (
        "What to try: give it more time (%%px --timeout 60, or engines.timeout = 60 for all "
        "cells), or fewer steps, or find the loop."
    )

    def conclude(self) -> list[Any]:
        return [self._returned[line.rank][0] for line in self.lines]
