"""Where the launcher shows what ranks print: whole lines, and below them one that has begun.

A line that a rank has not ended stands there as a preview, and so does progress, which a rank
rewrites by carriage returns. What comes next is written over it. So lines of several ranks are
never mixed, each has its rank in front, and a rank that waits in the middle of a line is seen.
"""

from __future__ import annotations

import shutil


def rewritten(line: str) -> str:
    """What stays of a line when each carriage return begins it anew."""
    return line.rstrip("\r").rpartition("\r")[2]


class Screen:
    """The last line on it belongs to nobody, or is the preview of one rank's line."""

    def __init__(self) -> None:
        self._preview = ""

    def show(self, rank: int, line: str) -> None:
        """A line that has ended."""
        self._put(f"[{rank}] {line}", "\n")
        self._preview = ""

    def preview(self, rank: int, begun: str) -> None:
        """A line that goes on; of a long one its end, for only one row can be written over."""
        room = shutil.get_terminal_size().columns - 1 - len(mark := f"[{rank}] ")
        shown = f"{mark}{begun if len(begun) <= room else '...' + begun[3 - room :]}"
        shown += " " * (len(self._preview) - len(shown))
        if shown != self._preview:
            self._put(shown, "")
            self._preview = shown

    def clear(self) -> None:
        """Take the preview away."""
        if self._preview:
            print("\r" + " " * len(self._preview), end="\r", flush=True)
            self._preview = ""

    def _put(self, text: str, end: str) -> None:
        """Write over the preview, or only what it lacks."""
        if text.startswith(self._preview):
            text = text[len(self._preview) :]
        else:
            text = "\r" + text.ljust(len(self._preview))
        print(text, end=end, flush=True)
