"""Stacks in a browser, where there is no greenlet: those of JavaScript's promises (JSPI).

The browser lays a stack of Python aside that waits for a promise. When the promise is kept, the
stack goes on where it was. So a stack is one promise, and to go on with it is to keep it:
`browser_stacks.js` knows them all by their numbers. `BrowserStack` has of greenlet what simulated
ranks need. A switch costs more than one of greenlet's.
"""

from __future__ import annotations

import inspect
import socket
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

NO_STACKS = (
    "This browser cannot lay a stack aside (JavaScript Promise Integration), and simulated ranks "
    "need that. Chrome and Edge can since version 137. What to try: open this page in one of "
    "them, bring the browser up to date, or install the course"
)
_numbers = count(1)


class StackEnds(BaseException):
    """Raised in a stack that is not to go on."""


class StillFrame(NamedTuple):
    """Where a stack is, as its frames said it: those of a stack laid aside cannot be followed, for
    some lie in memory that another stack uses meanwhile."""

    f_code: CodeType
    f_lineno: int
    f_locals: Mapping[str, Any]
    f_back: StillFrame | None


class BrowserStack:
    """`switch()` goes on with it, `throw(error)` raises there; true while it has begun and not
    ended."""

    def __init__(self, body: Callable[[], Any], parent: BrowserStack | None) -> None:
        self.parent = parent
        self.thrown: BaseException | type[BaseException] | None = None
        self.over = False
        self.number = 0  # from 1 on, once it has begun
        self._body: Callable[[], Any] | None = body
        self.asker: BrowserStack | None = None  # which wants to know where this one is
        self.place: StillFrame | None = None

    def __bool__(self) -> bool:
        return self.number > 0 and not self.over

    @property
    def gr_frame(self) -> StillFrame | None:
        """The frame in which it waits."""
        if not self:
            return None
        self.asker = _running
        _go_on(self)
        return self.place

    def switch(self) -> None:
        """Go on with it, from the beginning if it has not begun."""
        if self is not _main and not self.number:
            self.number = next(_numbers)
            _beginning[self.number] = self
        leaving = _running
        _go_on(self)
        while leaving.asker is not None:
            asker, leaving.asker = leaving.asker, None
            leaving.place = _still(inspect.currentframe())
            _go_on(asker)
        thrown, leaving.thrown = leaving.thrown, None
        if thrown is not None:
            raise thrown

    def throw(self, error: BaseException | type[BaseException]) -> None:
        self.thrown = error
        self.switch()

    def run(self) -> None:
        """Its body, where it has just begun."""
        global _running
        _running, body, self._body = self, self._body, None
        parent = self.parent or _main
        try:
            if body is not None:
                body()
        except StackEnds:
            pass
        except BaseException as error:
            parent.thrown = error
        finally:
            self.over = True
        _running = parent
        _stacks().over(self.number, parent.number)


_main = _running = BrowserStack(lambda: None, None)
_beginning: dict[int, BrowserStack] = {}


def running_stack() -> BrowserStack:
    """The stack that runs now."""
    return _running


def _go_on(to: BrowserStack) -> None:
    """Until it is the turn of the stack again that runs now."""
    global _running
    leaving = _running
    _stacks().lay_aside(to.number + 1)
    _running = leaving


def _begin(number: int) -> None:
    _beginning.pop(number).run()


def _still(frame: FrameType | None) -> StillFrame | None:
    if frame is None:
        return None
    return StillFrame(frame.f_code, frame.f_lineno, frame.f_locals, _still(frame.f_back))


class Stacks(NamedTuple):
    """What stands in `browser_stacks.js`."""

    over: Callable[[int, int], None]
    lay_aside: Callable[[int], Any]  # goes on with the stack of this number, less one


@cache
def _stacks() -> Stacks:
    ffi = import_module("pyodide.ffi")
    if not ffi.can_run_sync():
        raise RuntimeError(NO_STACKS)
    code = Path(__file__).with_suffix(".js").read_text()
    never = socket.socket(socket.AF_INET, socket.SOCK_STREAM)  # nothing is sent to it
    make = import_module("pyodide.code").run_js(code)
    # One proxy for all stacks: to make one takes longer than to begin a stack.
    stacks = make(import_module("pyodide_js"), never.fileno(), ffi.create_proxy(_begin))
    if stacks.atOnce:
        return Stacks(stacks.over, never.recv)
    return Stacks(stacks.over, lambda number: ffi.run_sync(stacks.suspended(None, number)))
