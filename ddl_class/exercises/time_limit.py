"""A limit on the time of a function, also for `while True: pass`.

The function runs in a thread of its own. When the time is up an exception is raised in that thread
at whatever line it is; a line that waits inside the operating system is left alone, and the
caller goes on all the same.
"""

import contextlib
import io
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from ddl_runtime.diagnosis.frames import innermost
from ddl_runtime.simulator.time_limit import raise_in, watched_loops

REQUESTS, PAUSE = 15, 0.2  # how often a thread is asked to end, and seconds of each wait


class TimeIsUp(KeyboardInterrupt):
    """Raised inside the function. Like Ctrl-C it passes every `except Exception`."""


class OutOfTime(Exception):
    """The function was stopped; `frame` is where it was."""

    def __init__(self, frame: FrameType | None) -> None:
        super().__init__("the time was up")
        self.frame = frame


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """What `function()` returns or raises, or `OutOfTime` after `seconds` seconds.

    What it prints is not shown: a check calls it too often for that.
    """
    if sys.platform == "emscripten":  # a browser, where no thread can start
        with watched_loops(seconds, TimeIsUp) as late, contextlib.redirect_stdout(Silence()):
            try:
                return function()
            except BaseException:
                if late:
                    raise OutOfTime(late[0]) from None
                raise
    outcome: dict[str, Any] = {}
    # Not Thread.join: a Ctrl-C in it may leave the thread marked as ended while it runs on.
    ended = threading.Event()

    def body() -> None:
        with contextlib.suppress(TimeIsUp):  # asked once more while it ends
            try:
                outcome["value"] = function()
            except BaseException as error:
                outcome["error"] = error
            finally:
                ended.set()

    thread = threading.Thread(target=body, daemon=True, name="a function being checked")
    with contextlib.redirect_stdout(Silence()):
        try:
            thread.start()
            in_time = _happens(ended, seconds)
        except KeyboardInterrupt:
            _stop(thread, ended)
            raise
        if not in_time:
            frame = innermost(thread.ident)
            _stop(thread, ended)
            raise OutOfTime(frame)
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def _happens(event: threading.Event, seconds: float) -> bool:
    """Wait in short pieces: a Ctrl-C just before a wait begins only takes effect after it."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if event.wait(min(left, PAUSE)):
            return True
    return event.is_set()


def _stop(thread: threading.Thread, ended: threading.Event) -> None:
    for _ in range(REQUESTS):  # an `except:` inside a loop catches the first, on every rank
        raise_in(thread.ident, TimeIsUp)
        if ended.wait(PAUSE) or not thread.is_alive():
            thread.join(PAUSE)
            return


class Silence(io.TextIOBase):
    """A file that throws away what is printed into it."""

    def write(self, text: str) -> int:
        return len(text)
