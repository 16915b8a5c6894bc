"""What a simulated rank runs on: a greenlet, or a thread of the operating system.

A greenlet is a stack that is laid aside and taken up again within one thread: 65,536 of them need
little memory, and a switch costs less than a microsecond. But all greenlets share what a library
keeps for each thread, as torch keeps its backward pass. Threads do not, and a switch costs about 5
microseconds, and far more on a busy machine. On both exactly one rank runs at a time: a thread
that hands the baton on sleeps until it comes back. Where ranks are threads, functions in a line
are greenlets all the same, in the thread that called `simulate`. In a browser the stacks of
`browser_stacks` stand for greenlets.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from ddl_runtime.core.element_types import backward_on_this_thread
from ddl_runtime.diagnosis.frames import innermost
from ddl_runtime.simulator.time_limit import raise_in

if sys.platform == "emscripten":  # a browser: greenlet is machine code, which it does not run
    from ddl_runtime.simulator import browser_stacks

    greenlet, GreenletExit = browser_stacks.BrowserStack, browser_stacks.StackEnds
    getcurrent = browser_stacks.running_stack
else:
    from greenlet import GreenletExit, getcurrent, greenlet

Stopped = GreenletExit  # raised in a stack that is not to go on
MOST_THREADS = 1024
PATIENCE = 0.1  # seconds until a sleeping caller looks for an interrupt

NOT_YOURS = (
    "this communicator or request belongs to another strand of this rank: a background function "
    "must use the communicator that it is given"
)

ADVICE = (
    "Give every rank a thread of its own: simulate(program, ranks, threads=True), or "
    "ddl-teach run --simulate ... --threads"
)


class Greenlets:
    """Stacks that share the caller's thread, and so what torch keeps for each thread.

    Whether gradients are recorded (`torch.no_grad`) is laid aside and put back when another rank
    goes on. The backward pass under way cannot be laid aside, so a wait in its midst is refused.
    """

    def __init__(self) -> None:
        self.caller = getcurrent()
        self._ident = threading.get_ident()
        torch = sys.modules.get("torch")
        self._usual = torch is None or torch.is_grad_enabled()  # where `simulate` was called

    def new(self, body: Callable[[], None]) -> greenlet:
        """A stack that begins with `body()` and ends by going on with the caller's."""
        return greenlet(body, self.caller)

    light = new

    def running_thread(self) -> int:
        return self._ident

    def check(self, stack: greenlet) -> None:
        """Refuse a wait of this stack in the name of another."""
        if stack is not getcurrent():
            raise RuntimeError(NOT_YOURS)

    def lay_aside(self) -> bool:
        """Before another rank goes on; returns whether this one's mode must be put back."""
        torch = sys.modules["torch"]
        if sys.modules["torch._C"]._current_graph_task_id() != -1:
            raise RuntimeError(
                "this rank would wait for a message inside torch's backward pass. torch keeps one "
                "backward pass for each thread, and these simulated ranks share a thread: "
                f"gradients would be wrong. {ADVICE}"
            )
        if torch.is_grad_enabled() == self._usual:
            return False
        if torch.is_inference_mode_enabled():
            raise RuntimeError(
                "this rank would wait for a message inside torch.inference_mode(), which holds "
                f"for the thread that these simulated ranks share. Use torch.no_grad(). {ADVICE}"
            )
        self.tidy()
        return True

    def put_back(self) -> None:
        """Before the rank whose mode was laid aside goes on."""
        sys.modules["torch"].set_grad_enabled(not self._usual)

    def tidy(self) -> None:
        """After a body has ended: the mode that others expect."""
        if "torch" in sys.modules:
            sys.modules["torch"].set_grad_enabled(self._usual)

    def let_go(self) -> None:
        """Drop the caller's own stack, after all ranks have ended. If the garbage collector did it
        later in another thread, Python could crash."""
        del self.caller


class ThreadStacks:
    """Stacks that are threads of which one runs: the one that has the baton. The thread that
    called `simulate`, which is here, runs when no rank can."""

    def __init__(self) -> None:
        self.running: ThreadStacks | ThreadStack | LightStack = self
        self.ident = threading.get_ident()
        self.baton = threading.Lock()
        self.baton.acquire()
        self.ended: ThreadStack | None = None  # the stack that has ended just now
        self.error: BaseException | None = None  # what escaped from it
        self.greenlets = Greenlets()

    def new(self, body: Callable[[], None]) -> ThreadStack:
        return ThreadStack(self, body)

    def light(self, body: Callable[[], None]) -> LightStack:
        """The same without a thread of its own, for what needs nothing that a library keeps for
        each thread."""
        return LightStack(self, body)

    def lay_aside(self) -> bool:
        """Each thread has torch's modes for itself; light stacks have them in common."""
        return self.running.__class__ is LightStack and self.greenlets.lay_aside()

    def put_back(self) -> None:
        self.greenlets.put_back()

    def tidy(self) -> None:
        if self.running.__class__ is LightStack:
            self.greenlets.tidy()

    def let_go(self) -> None:
        self.greenlets.let_go()

    def running_thread(self) -> int:
        return self.running.ident

    def check(self, stack: ThreadStack | LightStack) -> None:
        """Refuse a wait of this stack in the name of another, or of no stack at all."""
        if threading.get_ident() != self.running.ident:
            raise RuntimeError(
                "a rank must wait for its messages in its own thread, and this is another one: "
                "one that the program has started, or torch's for a backward pass on a GPU"
            )
        if stack is not self.running:
            raise RuntimeError(NOT_YOURS)

    @property
    def caller(self) -> ThreadStacks:
        return self

    def switch(self) -> None:
        self.running.hand_over(self)

    def hand_over(self, to: ThreadStacks | ThreadStack | LightStack) -> None:
        """Let others run until it is this one's turn again."""
        try:
            while not isinstance(to, ThreadStacks):
                if isinstance(to, LightStack):
                    to.go_on()
                else:
                    self._sleep(to)
                to = self.running
        finally:
            self.running = self
        self._clear_up()

    def _sleep(self, to: ThreadStack) -> None:
        """Until the baton comes back. A Ctrl-C meanwhile is meant for the rank that runs."""
        interrupt, handed_over = None, False
        while True:
            try:
                if interrupt is not None:
                    running = self.running
                    if running is self:
                        self.baton.acquire(blocking=False)  # unless that was done already
                        self._clear_up()
                        raise interrupt
                    if isinstance(running, LightStack):
                        self.baton.acquire(blocking=False)
                        running.thrown = interrupt
                        return
                    # Nothing here gives up the interpreter's lock, so `running` still runs.
                    raise_in(running.ident, interrupt.__class__)
                    interrupt = None
                if not handed_over:
                    handed_over = True
                    # No exception can come between these two: the `running` thread has the baton.
                    self.running = to
                    to.baton.release()
                if self.baton.acquire(timeout=PATIENCE):
                    return
            except BaseException as error:
                if error is interrupt:
                    raise
                interrupt = error

    def _clear_up(self) -> None:
        ended, self.ended = self.ended, None
        error, self.error = self.error, None
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
    def gr_frame(self) -> FrameType | None:
        """The frame in which the thread waits; greenlets have it under the same name."""
        return innermost(self.ident)

    def switch(self) -> None:
        """Go on with it, from the beginning if it has not begun."""
        if self.thread is None:
            self._start()
        self.threads.running.hand_over(self)

    def throw(self, error: BaseException | type[BaseException]) -> None:
        self.thrown = error
        self.threads.running.hand_over(self)

    def hand_over(self, to: ThreadStacks | ThreadStack | LightStack) -> None:
        dice: Any = getattr(sys.modules.get("torch"), "default_generator", None)
        rolled = None if dice is None else dice.get_state()
        self.threads.running = to  # as above
        to.baton.release()
        self.baton.acquire()
        if rolled is not None:
            dice.set_state(rolled)  # all ranks of a process share it
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
            # A fiber that was never begun has nothing to hand back.
            if not self.over:
                self.over = True
                threads.ended = self
                threads.running = threads
                threads.baton.release()


class LightStack:
    """A greenlet among threads: it runs in the thread of the caller, while the ranks' sleep."""

    def __init__(self, threads: ThreadStacks, body: Callable[[], None]) -> None:
        self.threads = threads
        self.ident = threads.ident
        self.baton = threads.baton
        self.thrown: BaseException | type[BaseException] | None = None
        self._body = body
        self._greenlet = greenlet(self._run, threads.greenlets.caller)

    def __bool__(self) -> bool:
        return bool(self._greenlet)

    @property
    def gr_frame(self) -> FrameType | None:
        return self._greenlet.gr_frame

    def switch(self) -> None:
        self.threads.running.hand_over(self)

    def throw(self, error: BaseException | type[BaseException]) -> None:
        self.thrown = error
        self.switch()

    def go_on(self) -> None:
        """In the thread of the caller: run until another stack is to run."""
        self.threads.running = self
        self._greenlet.switch()

    def hand_over(self, to: ThreadStacks | ThreadStack | LightStack) -> None:
        self.threads.running = to
        self.threads.greenlets.caller.switch()
        self._raise_thrown()

    def _raise_thrown(self) -> None:
        thrown, self.thrown = self.thrown, None
        if thrown is not None:
            raise thrown

    def _run(self) -> None:
        try:
            self._raise_thrown()
            self._body()
        except BaseException as error:
            self.threads.error = error
        finally:
            self.threads.running = self.threads
