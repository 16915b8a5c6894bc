"""How long a simulation may take by the clock on the wall: one that never ends is stopped, too.

A thread looks once in a while which simulations are late, and raises `SimulationIsLate` in them,
at the line where they are: also in a loop that waits for nothing. In a browser no thread can
start: there Python itself looks, at each turn of a loop. PyPy cannot raise in another thread:
there a signal stops a simulation that runs in the main thread, and no other is stopped.
"""

import ctypes
import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any

LOOK_EVERY, AGAIN_AFTER = 0.5, 1.0  # seconds
NAME = "time limits of simulations"

PYPY = sys.implementation.name == "pypy"

# Raises in another thread, at the line where it is.
raise_in: Any = PYPY or ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.py_object)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)


class SimulationIsLate(BaseException):
    """Raised in a simulation that is late; no Exception, so that no program swallows it."""


class TimeLimit:
    """One simulation's end, and how to find the thread that runs it just now."""

    def __init__(self, seconds: float, thread: Callable[[], int]) -> None:
        self.thread = thread
        self.ends = time.monotonic() + seconds


class _Clock:
    """All limits that hold now, and one thread for all of them; without any it waits."""

    def __init__(self) -> None:
        self._limits: dict[TimeLimit, None] = {}
        self._lock = threading.Lock()
        self._any = threading.Event()
        self._looks = False  # whether the thread has begun

    def __contains__(self, limit: TimeLimit) -> bool:
        return limit in self._limits

    def add(self, limit: TimeLimit) -> None:
        with self._lock:
            self._limits[limit] = None
            self._any.set()
            if not self._looks:
                with suppress(RuntimeError):  # where there are no threads, nobody looks
                    threading.Thread(target=self._look, daemon=True, name=NAME).start()
                    self._looks = True

    def remove(self, limit: TimeLimit) -> None:
        """From now on it is not raised any more."""
        with self._lock:
            self._limits.pop(limit, None)

    def _look(self) -> None:
        while self._any.wait():
            time.sleep(LOOK_EVERY)
            with self._lock:
                now = time.monotonic()
                for limit in [each for each in self._limits if each.ends < now]:
                    raise_in(limit.thread(), SimulationIsLate)
                    limit.ends = now + AGAIN_AFTER  # a bare `except:` may have caught it
                if not self._limits:
                    self._any.clear()


_CLOCK = _Clock()
if hasattr(os, "register_at_fork"):  # a copy of this process has no such thread
    os.register_at_fork(after_in_child=_CLOCK.__init__)  # type: ignore[misc]


@contextmanager
def limited(seconds: float, thread: Callable[[], int]) -> Iterator[None]:
    """`with` this, SimulationIsLate is raised after `seconds` seconds, in the thread that runs."""
    if PYPY or sys.platform == "emscripten":
        with _signalled(seconds) if PYPY else watched_loops(seconds, SimulationIsLate):
            yield
        return
    limit = TimeLimit(seconds, thread)
    _CLOCK.add(limit)
    try:
        yield
    finally:
        while limit in _CLOCK:
            with suppress(SimulationIsLate):  # it was late, but is done
                _CLOCK.remove(limit)


@contextmanager
def _signalled(seconds: float) -> Iterator[None]:
    """The same by a signal, in the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        raise SimulationIsLate

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_AFTER)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(eq=False)
class LoopLimit:
    """What is raised when the time is up, and in which frames."""

    ends: float
    error: type[BaseException]
    frames: list[FrameType]


_LOOP_LIMITS: list[LoopLimit] = []


@contextmanager
def watched_loops(seconds: float, error: type[BaseException]) -> Iterator[list[FrameType]]:
    """The same without a thread: Python looks. Gives a list, for the frame that was late."""
    limit = LoopLimit(time.monotonic() + seconds, error, [])
    _look_at_loops()
    _LOOP_LIMITS.append(limit)
    try:
        yield limit.frames
    finally:
        _LOOP_LIMITS.remove(limit)


@cache
def _look_at_loops() -> None:
    """From now on, for good: to change what is looked at, Python would walk through all stacks,
    and in a browser those that wait cannot be walked through."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]  # from Python 3.12 on

    def look(*_: Any) -> None:
        for limit in _LOOP_LIMITS:
            if limit.ends < (now := time.monotonic()):
                limit.ends = now + AGAIN_AFTER
                if (here := inspect.currentframe()) and here.f_back:
                    limit.frames.append(here.f_back)
                raise limit.error

    tool = next(number for number in range(6) if monitoring.get_tool(number) is None)
    monitoring.use_tool_id(tool, NAME)
    monitoring.register_callback(tool, monitoring.events.JUMP, look)
    monitoring.set_events(tool, monitoring.events.JUMP)
