"""What is under way on a real rank: messages, and functions in threads.

Of an array on a device MPI can send nothing before kernels and copies are done. So such a message
is a list of steps (`device_protocols`): a generator that yields where it would have to wait, and
says for what. Whenever this rank waits for anything, it continues every list.

MPI matches messages in the order of its calls. So a message that is given to MPI later, in host
memory or not, waits in line (`in_line`). Nothing overtakes an earlier message to the same rank
under the same tag.
"""

import contextlib
import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ddl_runtime.core.arrays import Array, describe
from ddl_runtime.core.checks import ANY
from ddl_runtime.core.parts import Request
from ddl_runtime.diagnosis.deadlock import MessageMismatch
from ddl_runtime.diagnosis.waits import Wait
from ddl_runtime.mpi.chunked import Chunks
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.delivery import Delivery
from ddl_runtime.mpi.diagnosis import explain, explain_call
from ddl_runtime.mpi.polling import PEER, Stopped
from ddl_runtime.mpi.wire import MPI, SHORT, wire_tag

# Yields PEER or DEVICE, for which it waits; returns the rank that a message came from.
Steps = Generator[str, None, Any]
Turn = Callable[[], bool]


class Polled(Request):
    """A request that this rank asks about again and again until it is done; `finished` then sets
    `waited`."""

    __slots__ = ("_context", "_source", "waited")
    _details: tuple[str, Any, int, int]  # of a message: the call, the array, the other rank, tag

    def __init__(self, context: MPIContext) -> None:
        self._context = context
        self._source = context.rank
        self.waited = False

    def wait(self) -> int:
        if not self.waited:
            self._context.polling.wait(self.finished, self.explain)
        return self._source

    @abstractmethod
    def finished(self) -> bool:
        """Ask once whether it is done; raises what went wrong."""

    def explain(self) -> Wait:
        """What is waited for."""
        return replace(explain(self._context, *self._details), purpose=self.purpose)


class MPIRequest(Polled):
    """A message under way."""

    __slots__ = ("_begun", "_delivery", "_details", "_handle", "_too_long")

    def __init__(
        self, delivery: Delivery, handle: Any, what: str, x: Array, peer: int, tag: int
    ) -> None:
        context = delivery.context
        super().__init__(context)
        self._delivery = delivery
        self._handle = handle
        self._details = (what, x, peer, tag)
        self._begun = time.perf_counter()
        self._too_long = 0  # bytes of the message of our own that was cut to fit
        context.records.open[self] = None
        if what == "irecv" and x.nbytes > SHORT:
            context.monitor.receives[self] = threading.get_ident()

    def finished(self) -> bool:
        what, x, peer, tag = self._details
        delivery = self._delivery
        try:
            if what == "isend":
                if not self._handle.Test():
                    return False
                delivery.sent(self._begun, x, peer, tag)
            else:
                if not delivery.test(self._handle, x, peer, tag):
                    return False
                source = delivery.received(self._begun, x, peer, tag, self._too_long)
                if source is None:
                    self._handle = delivery.chunks_into(x, tag)
                    return False
                self._source = source
        except MessageMismatch:
            self._close()
            raise
        self._close()
        return True

    def _close(self) -> None:
        self.waited = True
        del self._context.records.open[self]
        if self._context.monitor.receives:
            self._context.monitor.receives.pop(self, None)

    def take_chunks(self) -> None:
        """Take the chunks that have arrived, so that their sender need not wait."""
        _, x, _, tag = self._details
        delivery = self._delivery.for_transfers
        if isinstance(self._handle, Chunks):
            self._handle.Test(delivery.context.status)
            return
        # What does not fit is raised where this message is waited for.
        with contextlib.suppress(MessageMismatch, MPI.Exception):
            if self._handle.Get_status(delivery.context.status) and delivery.is_head(x.nbytes):
                chunks = delivery.chunks_into(x, tag)
                self._handle.Test()
                self._handle = chunks

    def takes(self, context: MPIContext, on_wire: int) -> bool:
        """Whether this is a receive that still waits and would get the rank's next message to
        itself under this tag."""
        what, x, peer, tag = self._details
        return (
            what != "isend"
            and context.mpi is self._context.mpi
            and peer in (ANY, context.rank)
            and wire_tag(tag, describe(x)[1], x.nbytes, context.channel) == on_wire
            and not self._handle.Get_status()
        )

    def offer(self, nbytes: int) -> int:
        """A message of `nbytes` bytes is about to come: how many there is room for."""
        _, x, _, _ = self._details
        self._too_long = nbytes if nbytes > x.nbytes else 0
        return min(nbytes, x.nbytes)

    @property
    def sends(self) -> bool:
        return self._details[0] == "isend"

    def abandon(self) -> None:
        """The program has ended without it: a receive must not write into freed memory."""
        # A rank can be stopped just after MPI has finished, and before that is written down.
        if not self.sends and self._handle:
            self._handle.Cancel()


class BackgroundRequest(Polled):
    """A function running in a thread of this rank."""

    def __init__(
        self, context: MPIContext, function: Callable[..., Any], args: tuple[Any, ...],
        after: "BackgroundRequest | None" = None,
    ) -> None:  # fmt: skip
        super().__init__(context)
        self._error: BaseException | None = None

        def body() -> None:
            context.monitor.functions[threading.get_ident()] = None
            try:
                if after is not None:
                    after.join()
                function(*args)
            except Stopped:
                pass
            except BaseException as error:
                self._error = context.monitor.error = error
            finally:
                context.monitor.strands -= 1
                context.monitor.functions.pop(threading.get_ident())

        context.monitor.strands += 1
        context.records.background.append(self)
        self._thread = threading.Thread(target=body, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until the thread has ended; raises what the function raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def finished(self) -> bool:
        if self._thread.is_alive():
            return False
        self.waited = True
        if self._error is not None:
            self._context.monitor.error = None
            raise self._error
        return True

    def explain(self) -> Wait:
        return explain_call(self._context, "background()", ())


class Transfer(Polled):
    """A message under way, step by step."""

    def __init__(
        self, context: MPIContext, details: tuple[str, Any, int, int], steps: Steps
    ) -> None:
        super().__init__(context)
        self._details = details
        self._steps = steps
        self._error: Exception | None = None
        self._ended = False
        self.waits_for = PEER
        context.records.open[self] = None
        context.monitor.transfers[self] = None
        with context.monitor.driving:
            self.advance()

    def advance(self) -> None:
        """Go on as far as possible without waiting; call it only while holding `driving`."""
        if self._ended:
            return
        try:
            self.waits_for = next(self._steps)
            return
        except StopIteration as end:
            self._source = self._context.rank if end.value is None else end.value
        except Exception as error:
            self._error = error  # raised where this message is waited for
        self._ended = True
        self._context.monitor.transfers.pop(self, None)

    def finished(self) -> bool:
        self._context.monitor.drive()
        if not self._ended:
            return False
        self.waited = True
        self._context.records.open.pop(self, None)
        if self._error is not None:
            raise self._error
        return True

    @property
    def sends(self) -> bool:
        return self._details[0].endswith("send")

    def takes(self, context: MPIContext, on_wire: int) -> bool:
        """False: the receive that this transfer has begun takes the message."""
        return False

    def abandon(self) -> None:
        """The program has ended without it; it is kept, for copies may still use its memory."""


@contextmanager
def in_line(context: MPIContext, *key: Any) -> Iterator[Turn]:
    """`with in_line(...) as my_turn:` is a place among messages that MPI must be given in order;
    `my_turn()` says whether it is the first. Leave it when MPI has the message, or will never have
    it."""
    line, place = context.lines.setdefault(key, deque()), object()
    line.append(place)
    try:
        yield lambda: line[0] is place
    finally:
        line.remove(place)
        if not line:
            del context.lines[key]


def until(done: Callable[[], bool], whom: Callable[[], str] | str) -> Steps:
    """Wait for something."""
    while not done():
        yield whom if isinstance(whom, str) else whom()
