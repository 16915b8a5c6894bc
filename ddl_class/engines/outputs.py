"""What a notebook sees of its ranks: how far their start is, and what they printed and displayed.

What the ranks print stands there when all have ended, in rank order. Each line of text carries its
rank in front, each rank's figures stand between the lines that were printed around them. Until
then the newest line is previewed, whichever rank printed it. A rank that prints without end fills
neither the notebook nor its memory.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.display import publish_display_data

from ddl_runtime.launcher.pipe import RankPipe, Screen, rewritten
from ddl_runtime.launcher.watchdog import Watchdog
from ddl_runtime.records.run import compare_collectives

WIDTH = 24  # characters of a full bar of progress
MOST_TEXT = 100_000  # bytes of one rank's text that are shown
MOST_DISPLAYS = 40
MARK = re.compile(rb"\x00\x1eshown (\d+)\x1e\x00")


def marker(number: int) -> bytes:
    """What stands in a rank's printed text in place of a figure."""
    return b"\x00\x1eshown %d\x1e\x00" % number


class RankOutput:
    """One rank's output of one cell."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._left_out = 0
        self._displays: dict[int, tuple[dict, dict]] = {}

    def write(self, text: bytes) -> None:
        room = max(0, MOST_TEXT - len(self._text))
        self._text += text[:room]
        self._left_out += max(0, len(text) - room)

    def show(self, number: int, data: dict, metadata: dict) -> None:
        if len(self._displays) < MOST_DISPLAYS:
            self._displays[number] = (data, metadata)

    def parts(self) -> Iterator[str | tuple[dict, dict]]:
        """Text and displays in the order in which they came."""
        pieces = MARK.split(bytes(self._text))
        for text, number in zip(pieces[::2], [*pieces[1::2], b""], strict=True):
            if text:
                yield text.decode(errors="replace")
            if number and int(number) in self._displays:
                yield self._displays.pop(int(number))
        if self._left_out:
            yield f"... and {self._left_out} more characters\n"
        yield from self._displays.values()  # those whose mark was left out

    def publish(self, rank: int) -> None:
        """Show the output in the notebook, or on the terminal."""
        for part in self.parts():
            plain = part if isinstance(part, str) else part[0].get("text/plain", "")
            if isinstance(part, str) or set(part[0]) <= {"text/plain"} or get_ipython() is None:
                for line in plain.removesuffix("\n").split("\n"):
                    print(f"[{rank}] {rewritten(line)}")
            else:
                print(f"[{rank}]", flush=True)
                publish_display_data(*part)


def watched() -> bool:
    """Whether a person looks at the output. The variable IPP_NONINTERACTIVE, known from
    ipyparallel, says that none does: for tests of notebooks."""
    on_screen = get_ipython() is not None or sys.stdout.isatty()
    return on_screen and not os.environ.get("IPP_NONINTERACTIVE")


def in_notebook() -> bool:
    """Whether a person looks at the output, in a page that shows pictures."""
    return watched() and hasattr(get_ipython(), "kernel")


@contextmanager
def progress_bar(ranks: int) -> Iterator[Callable[[float], None]]:
    """Shows a bar in a notebook or a terminal while the engines start. Gives a function that draws
    it: its argument is the part that is done, from 0 to 1."""
    begun, silent, end = time.monotonic(), not watched(), "could not be started"

    def show(part: float) -> None:
        if not silent:
            full = round(part * WIDTH)
            bar = "█" * full + "░" * (WIDTH - full)
            print(f"\rStarting {ranks} engines  {bar}", end="", flush=True)

    show(0.0)
    try:
        yield show
        end = f"are ready ({time.monotonic() - begun:.1f} s)"
    finally:
        if not silent:
            print(f"\r{ranks} engines {end}".ljust(WIDTH + 30), flush=True)


class EnginePipe(RankPipe):
    """The connections to one engine; what it printed and displayed is kept."""

    preview_after = 1.0  # shorter cells show all at once

    def __init__(self, pid: int, screen: Screen) -> None:
        super().__init__(pid, screen)
        self.kept = RankOutput()
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
        self.kept, self._ended, self.unseen_since = RankOutput(), "", None

    def newest(self) -> str:
        newest, ended = (MARK.sub(b"", text.encode()) for text in (super().newest(), self._ended))
        return (newest or ended).decode()


class ProgramWatchdog(Watchdog):
    """Watches one program on the engines."""

    stop_limit = 1.5  # longer than for a program: their variables are worth it
    afterwards = ""  # what becomes of the engines is said elsewhere for all failures

    def take(self, line: EnginePipe, kind: str, parts: list) -> None:
        if kind == "shown":
            line.kept.show(*parts)
        else:
            super().take(line, kind, parts)


class CellWatchdog(ProgramWatchdog):
    """Watches one cell, or another order to all shells; returns the answer of each."""

    advice = (
        "What to try: give it more time (%%px --timeout 60, or engines.timeout = 60 for all "
        "cells), or fewer steps, or find the loop."
    )

    def conclude(self) -> list[Any]:
        return [self._returned[line.rank][0] for line in self.lines]


class CodeWatchdog(CellWatchdog):
    """Watches a cell on strict ranks, and compares the collectives that they have begun."""

    def conclude(self) -> list[Any]:
        answers = super().conclude()
        ranks = [line.rank for line in self.lines]
        compare_collectives(zip(ranks, answers, strict=True))
        return answers
