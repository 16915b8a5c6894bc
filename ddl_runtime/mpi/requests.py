"""What is under way on a real rank: messages, and functions in threads."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from ddl_runtime.core.arrays import Array, describe
from ddl_runtime.core.checks import ANY
from ddl_runtime.core.request import Request
from ddl_runtime.diagnosis.deadlock import MessageMismatch
from ddl_runtime.diagnosis.waits import Wait
from ddl_runtime.mpi.chunked import Chunks
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.delivery import Delivery
from ddl_runtime.mpi.diagnosis import Diagnosis
from ddl_runtime.mpi.polling import Stopped
from ddl_runtime.mpi.wire import MPI, SHORT, wire_tag


class MPIRequest(Request):
    """A message under way."""

    __slots__ = ("_begun", "_context", "_delivery", "_details", "_handle", "_source", "_too_long",
                 "waited")  # fmt: skip

    def __init__(
        self, delivery: Delivery, handle: Any, what: str, x: Array, peer: int, tag: int
    ) -> None:
        self._delivery = delivery
        self._context = context = delivery.context
        self._handle = handle
        self._details = (what, x, peer, tag)
        self._begun = time.perf_counter()
        self._source = context.rank
        self._too_long = 0  # bytes of the message of our own that was cut to fit
        self.waited = False
        context.records.open[self] = None
        if what == "irecv" and x.nbytes > SHORT:
            context.monitor.receives[self] = threading.get_ident()

    def wait(self) -> int:
        if not self.waited:
            self._context.patience.wait(self.finished, self.explain)
        return self._source

    def finished(self) -> bool:
        """Ask MPI once, and keep the books when it is done."""
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
        """Take those that have come though nobody waits for this message: its sender does."""
        _, x, _, tag = self._details
        delivery = self._delivery.for_transfers
        if isinstance(self._handle, Chunks):
            self._handle.Test(delivery.context.status)
            return
        # What does not fit is told to whoever waits for this message.
        with contextlib.suppress(MessageMismatch, MPI.Exception):
            if self._handle.Get_status(delivery.context.status) and delivery.is_head(x.nbytes):
                chunks = delivery.chunks_into(x, tag)
                self._handle.Test()
                self._handle = chunks

    def takes(self, context: MPIContext, on_wire: int) -> bool:
        """Whether the rank's next message to itself under this tag comes here."""
        what, x, peer, tag = self._details
        return (
            what != "isend"
            and context.mpi is self._context.mpi
            and peer in (ANY, context.rank)
            and wire_tag(tag, describe(x)[1], x.nbytes, context.channel) == on_wire
            and not self._handle.Get_status()
        )

    def offer(self, nbytes: int) -> int:
        """A message of so many bytes is about to come: how many there is room for."""
        _, x, _, _ = self._details
        self._too_long = nbytes if nbytes > x.nbytes else 0
        return min(nbytes, x.nbytes)

    def explain(self) -> Wait:
        """What is waited for."""
        return self._delivery.diagnosis.explain(*self._details)

    @property
    def sends(self) -> bool:
        return self._details[0] == "isend"

    def abandon(self) -> None:
        """The program has ended without it: a receive must not write into freed memory."""
        # A rank can be stopped just after MPI has finished, and before that is written down.
        if not self.sends and self._handle:
            self._handle.Cancel()


class BackgroundRequest(Request):
    """A function running in a thread of this rank."""

    def __init__(
        self, diagnosis: Diagnosis, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        self._diagnosis = diagnosis
        self._context = context = diagnosis.context
        self._error: BaseException | None = None
        self.waited = False

        def body() -> None:
            try:
                function(*args)
            except Stopped:
                pass
            except BaseException as error:
                self._error = context.monitor.error = error
            finally:
                context.monitor.strands -= 1

        context.monitor.strands += 1
        context.records.background.append(self)
        self._thread = threading.Thread(target=body, daemon=True)
        self._thread.start()

    def wait(self) -> int:
        if not self.waited:
            self._context.patience.wait(self.finished, self.explain)
        return self._context.rank

    def finished(self) -> bool:
        """Whether the function has returned; raises what it raised."""
        if self._thread.is_alive():
            return False
        self.waited = True
        if self._error is not None:
            self._context.monitor.error = None
            raise self._error
        return True

    def explain(self) -> Wait:
        """What is waited for."""
        return self._diagnosis.explain_call("background()", ())
