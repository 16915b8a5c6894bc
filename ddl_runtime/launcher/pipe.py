"""The launcher's end of the lines to one rank.

One line carries orders and reports. One carries what the rank prints, taken from its file
descriptors, so that the last words of a crash arrive as well. A third stays silent until a rank
that does not answer is asked where it is.

On the screen stand whole lines, and below them, as a preview, one that a rank has not ended; so
does progress, which a rank rewrites by carriage returns. What comes next is written over it. So
lines of several ranks are never mixed, and each has its rank in front.
"""

import codecs
import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from multiprocessing.connection import Connection, wait
from typing import Any

MOST_READS = 64  # more than lies in a line, however fast the rank prints
MOST_PREVIEW = 400  # characters of a line that has begun: more than a row of a screen
HUNG_UP = getattr(select, "POLLRDHUP", 0)  # on a line of TCP the other end alone has closed
STACK_ENDS = (b"in _run_module_as_main\n", b"  ...\n")  # its outermost line, or too many of them


def rewritten(line: str) -> str:
    """What stays of a line when each carriage return begins it anew."""
    return line.rstrip("\r").rpartition("\r")[2]


class Screen:
    """The last line on it is empty, or the preview of one rank's line."""

    def __init__(self) -> None:
        self._preview = ""

    def show(self, rank: int, line: str) -> None:
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


class RankPipe:
    """The connections to one rank, and what is known about it."""

    preview_after = 0.1  # seconds that the beginning of a line waits for its end

    def __init__(self, pid: int, screen: Screen) -> None:
        self.pid = pid  # 0: on another machine
        self.screen = screen
        self.rank = -1
        self.control: Connection | None = None
        self.output: Connection | None = None
        self.stack: Connection | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun: list[str] = []  # of a line that has not ended yet, since it was begun anew
        self.unseen_since: float | None = None  # when the first of what is to preview came

    @property
    def gone(self) -> bool:
        watcher = select.poll()
        watcher.register(self.control.fileno(), HUNG_UP)
        return any(event & (select.POLLHUP | HUNG_UP) for _, event in watcher.poll(0))

    def tell(self, *order: Any) -> None:
        """Send the rank an order. If the rank is gone, nothing happens here: the watchdog notices
        it."""
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
            self._end_line()  # its last words, cut short
        return bool(text)

    def drain_output(self) -> None:
        """Take what has come so far, whole lines or not; not what comes meanwhile."""
        for _ in range(MOST_READS):
            if not (wait([self.output], timeout=0) and self.read_output()):
                break
        if self._begun:
            self._end_line()

    def hear(self, text: bytes) -> None:
        """The rank has printed something: show the whole lines, each with its rank. Every piece
        is looked at once, however long a line becomes."""
        first, *more = self._decoder.decode(text, final=not text).split("\n")
        self._go_on(first)
        for piece in more:
            self._end_line()
            self._go_on(piece)
        if text and self._begun:
            self.note_news()

    def show(self, line: str) -> None:
        self.screen.show(self.rank, line)
        self.unseen_since = None

    def note_news(self) -> None:
        if self.unseen_since is None:
            self.unseen_since = time.monotonic()

    def preview(self) -> None:
        """Show how far the line has come, if its end has been waited for long enough."""
        since = self.unseen_since
        if since is not None and time.monotonic() >= since + self.preview_after:
            self.unseen_since = None
            self.screen.preview(self.rank, self.newest())

    def newest(self) -> str:
        """The line that has begun, or enough of its end."""
        pieces, length = [], 0
        for piece in reversed(self._begun):
            pieces.append(piece[-MOST_PREVIEW:])
            length += len(piece)
            if length > MOST_PREVIEW:
                break
        return rewritten("".join(reversed(pieces)))

    def _go_on(self, text: str) -> None:
        """More of a line; after a carriage return it begins anew, as soon as there is more."""
        before = self._begun[-1][-1] if self._begun else ""
        if "\r" in (before + text).rstrip("\r"):
            self._begun.clear()
        if text.strip("\r") or (text and self._begun):
            self._begun.append(text)

    def _end_line(self) -> None:
        """Show the line that has begun: it has ended, or nothing more of it will come."""
        self.show(rewritten("".join(self._begun)))
        self._begun.clear()

    @property
    def frozen(self) -> bool:
        """Whether something has stopped the process (SIGSTOP), and not let it go on again."""
        words = ["ps", "-o", "stat=", "-p", str(self.pid)]
        with contextlib.suppress(OSError):
            return subprocess.run(words, capture_output=True).stdout.strip()[:1] == b"T"
        return False

    def ask_for_stack(self) -> None:
        """Let the rank write its stack to its `stack` connection, even inside compiled code."""
        with contextlib.suppress(OSError):
            if self.pid:
                os.kill(self.pid, signal.SIGUSR2)
            else:  # on another machine: its kernel sends the signal
                os.write(self.stack.fileno(), b"?")

    def read_stack(self, patience: float) -> str:
        """The stack that the rank writes, after `ask_for_stack` or a crash, within `patience`
        seconds."""
        text = b""
        until = time.monotonic() + patience
        while not text.endswith(STACK_ENDS) and wait([self.stack], until - time.monotonic()):
            try:
                more = os.read(self.stack.fileno(), 1 << 16)
            except OSError:  # a line of TCP whose other end went without having read all
                break
            if not more:
                break
            text += more
        return text.decode(errors="replace")

    def close(self) -> None:
        for connection in (self.control, self.output, self.stack):
            if connection is not None:
                connection.close()
