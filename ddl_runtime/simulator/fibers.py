"""What a simulated rank runs on: a greenlet, or a thread of the operating system.

A greenlet is a stack that is laid aside and taken up again within one thread: 65,536 of them need
little memory, and going from one to the next costs less than a microsecond. But all greenlets
share what a library keeps for each thread, as torch keeps its backward pass. Threads do not, and
cost about 5 microseconds a handover. To the simulator both look alike, and on both exactly one
rank runs at a time: a thread that hands the baton on sleeps until somebody hands it back.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from types import FrameType

from greenlet import GreenletExit, getcurrent, greenlet

from ddl_runtime.simulator.torch_mode import TorchMode, backward_on_this_thread

Stopped = GreenletExit  # raised in a stack that is not to go on
MOST_THREADS = 1024
PATIENCE = 0.1  # seconds until a sleeping caller looks whether anybody wants to interrupt it

NOT_YOURS = (
    "this communicator or request belongs to another strand of this rank: a background function "
    "must use the communicator that it is given"
)

# Raises in another thread, at the line where it is.
_raise_in = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.py_object)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)


class GreenletStack(greenlet):
    """`switch()` goes on with it, `throw(error)` raises there; true while it has begun and not
    ended."""

    __slots__ = ()

    @property
    def frame(self) -> FrameType | None:
        """Where it waits."""
        return self.gr_frame


class Greenlets:
    """Stacks that share the caller's thread."""

    def __init__(self) -> None:
        self.caller = getcurrent()
        self.torch_mode: TorchMode | None = TorchMode()

    def new(self, body: Callable[[], None]) -> GreenletStack:
        """A stack that begins with `body()` and ends by going on with the caller's."""
        return GreenletStack(body, self.caller)

    def check(self, stack: GreenletStack) -> None:
        """Refuse a wait of this stack in the name of another."""
        if stack is not getcurrent():
            raise RuntimeError(NOT_YOURS)

    def tidy(self) -> None:
        """After a body has ended."""
        self.torch_mode.restore()

    def let_go(self) -> None:
        """After the last one: the caller's own stack must not outlive its thread in garbage, or
        the collector takes it away in another thread, and Python may crash."""
        del self.caller


class ThreadStacks:
    """Stacks that are threads of which one runs: the one that has the baton."""

    torch_mode = None  # each thread has its own

    def __init__(self) -> None:
        self.caller = self.running = CallersThread(self)
        self.ended: ThreadStack | None = None  # the stack that has ended just now
        self.error: BaseException | None = None  # what escaped from it

    def new(self, body: Callable[[], None]) -> ThreadStack:
        """A stack that begins with `body()` and ends by going on with the caller's."""
        return ThreadStack(self, body)

    def tidy(self) -> None:
        """After a body has ended."""

    def let_go(self) -> None:
        """After the last one."""

    def check(self, stack: ThreadStack) -> None:
        """Refuse a wait of this stack in the name of another, or of no stack at all."""
        if threading.get_ident() != self.running.ident:
            raise RuntimeError(
                "a rank must wait for its messages in its own thread, and this is another one: "
                "one that the program has started, or torch's for a backward pass on a GPU"
            )
        if stack is not self.running:
            raise RuntimeError(NOT_YOURS)


class CallersThread:
    """The thread that called `simulate`: it runs when no rank can."""

    def __init__(self, threads: ThreadStacks) -> None:
        self.threads = threads
        self.ident = threading.get_ident()
        self.baton = threading.Lock()
        self.baton.acquire()

    def switch(self) -> None:
        """Go on here."""
        self.threads.running.hand_over(self)

    def hand_over(self, to: ThreadStack) -> None:
        """Sleep until the baton comes back. A Ctrl-C meanwhile is meant for the rank that runs."""
        threads, interrupt, handed_over = self.threads, None, False
        while True:
            try:
                if interrupt is not None:
                    running = threads.running
                    if running is self:
                        self.baton.acquire(blocking=False)  # unless that was done already
                        self._clear_up()
                        raise interrupt
                    # Nothing here gives up the interpreter's lock, so that is still who runs.
                    _raise_in(running.ident, interrupt.__class__)
                    interrupt = None
                if not handed_over:
                    handed_over = True
                    # No exception can come between these two: who is `running` has the baton.
                    threads.running = to
                    to.baton.release()
                if self.baton.acquire(timeout=PATIENCE):
                    break
            except BaseException as error:
                if error is interrupt:
                    raise
                interrupt = error
        self._clear_up()

    def _clear_up(self) -> None:
        threads = self.threads
        ended, threads.ended = threads.ended, None
        error, threads.error = threads.error, None
        if ended is not None:
            ended.thread.join()
        if error is not None:
            raise error


class ThreadStack:
    """`switch()` goes on with it, `throw(error)` raises there; true while it has begun and not
    ended."""

    def __init__(self, threads: ThreadStacks, body: Callable[[], None]) -> None:
        self.threads = threads
        self.body = body
        self.thread: threading.Thread | None = None
        self.ident = 0
        self.baton = threading.Lock()
        self.baton.acquire()
        self.thrown: BaseException | type[BaseException] | None = None
        self.over = False

    def __bool__(self) -> bool:
        return self.thread is not None and not self.over

    @property
    def frame(self) -> FrameType | None:
        """Where it waits."""
        return sys._current_frames().get(self.ident)

    def switch(self) -> None:
        """Go on with it, from the beginning if it has not begun."""
        if self.thread is None:
            self._start()
        self.threads.running.hand_over(self)

    def throw(self, error: BaseException | type[BaseException]) -> None:
        """Raise the error where it waits."""
        self.thrown = error
        self.threads.running.hand_over(self)

    def hand_over(self, to: CallersThread | ThreadStack) -> None:
        """Sleep until the baton comes back."""
        self.threads.running = to  # as above
        to.baton.release()
        self.baton.acquire()
        thrown, self.thrown = self.thrown, None
        if thrown is not None:
            raise thrown

    def _start(self) -> None:
        here = threading.Lock()
        here.acquire()
        self.thread = threading.Thread(target=self._run, args=(here,), daemon=True)
        try:
            self.thread.start()
            here.acquire()
        except BaseException as error:
            self.over = True
            self.baton.release()  # should the thread have come into being, it ends now
            if isinstance(error, RuntimeError):
                raise RuntimeError(
                    f"the system gives no more threads ({error}): use fewer ranks, or leave "
                    "threads=True away"
                ) from None
            raise

    def _run(self, here: threading.Lock) -> None:
        threads = self.threads
        try:
            self.ident = threading.get_ident()
            here.release()
            self.baton.acquire()
            if not self.over:
                backward_on_this_thread()
                self.body()
        except BaseException as error:
            threads.error = error
        finally:
            # Whoever was never begun has nothing to hand back.
            if not self.over:
                self.over = True
                threads.ended = self
                threads.running = threads.caller
                threads.caller.baton.release()
