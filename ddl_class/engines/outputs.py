"""What ranks printed and displayed, shown in rank order.

Each line of text carries its rank in front; a figure stands under a line with its rank. A rank
that prints without end fills neither the notebook nor its memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from IPython.core.getipython import get_ipython
from IPython.display import publish_display_data

from ddl_runtime.launcher.pipe import rewritten

MOST_TEXT = 100_000  # bytes of one rank's text that are shown
MOST_DISPLAYS = 40
MARK = re.compile(rb"\x00\x1eshown (\d+)\x1e\x00")


def marker(number: int) -> bytes:
    """What stands in a rank's printed text in place of a figure."""
    return b"\x00\x1eshown %d\x1e\x00" % number


def without_marks(text: str) -> str:
    """The text with nothing in place of figures."""
    return MARK.sub(b"", text.encode()).decode()


class Output:
    """One rank's output of one cell."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._left_out = 0
        self._displays: dict[int, tuple[dict, dict]] = {}

    def write(self, text: bytes) -> None:
        """Keep what the rank printed."""
        room = max(0, MOST_TEXT - len(self._text))
        self._text += text[:room]
        self._left_out += max(0, len(text) - room)

    def show(self, number: int, data: dict, metadata: dict) -> None:
        """Keep what the rank displayed."""
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


def show(rank: int, output: Output) -> None:
    """Put one rank's output into the notebook, or on the terminal."""
    for part in output.parts():
        if isinstance(part, str):
            _print(rank, part)
        elif set(part[0]) <= {"text/plain"} or get_ipython() is None:
            _print(rank, part[0].get("text/plain", ""))
        else:
            print(f"[{rank}]", flush=True)
            publish_display_data(*part)


def _print(rank: int, text: str) -> None:
    for line in text.removesuffix("\n").split("\n"):
        print(f"[{rank}] {rewritten(line)}")
