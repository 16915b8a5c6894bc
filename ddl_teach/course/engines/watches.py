"""Watching over what a notebook asks of its ranks: as `launch` does, and outputs are kept.

What the ranks print is not shown as it comes but when all have ended, so that it stands in rank
order and each rank's figures stand between the lines that were printed around them.
"""

from __future__ import annotations

from typing import Any

from ddl_teach.comm.line import Line
from ddl_teach.comm.watch import Watch
from ddl_teach.course.engines.outputs import Output


class EngineLine(Line):
    """The connections to one engine; what it printed and displayed is kept."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.kept = Output()

    def hear(self, text: bytes) -> None:
        self.kept.write(text)


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
