"""What is under way on a real rank: messages, and functions in threads."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddl_teach.comm.arrays import Array, describe
from ddl_teach.comm.chunks import Chunks
from ddl_teach.comm.devices.choice import Preference
from ddl_teach.comm.devices.staging import Copies
from ddl_teach.comm.interface import ANY, Request
from ddl_teach.comm.mpi import MPI, SHORT, wire_tag
from ddl_teach.comm.patience import Stopped
from ddl_teach.comm.story import MessageMismatch, Wait

if TYPE_CHECKING:
    from ddl_teach.comm.mpi_messages import MPIMessages


class Records:
    """What all communicators of one rank write down during one program."""

    def __init__(self, trace: bool, copies: Copies) -> None:
        self.ledger: list[tuple] = []
        self.received: list[tuple[int, int, int, str]] = []  # source, tag, bytes, kind
        self.fetched: list[tuple[int, int]] = []  # owner, bytes read from its window
        self.spans: list[tuple] | None = [] if trace else None
        # Begun and not finished: MPI may still read or write their memory.
        self.open: dict[Any, None] = {}
        self.background: list[BackgroundRequest] = []
        self.windows: list[Any] = []  # shared memory and windows to give back
        self.began = 0.0
        self.copies = copies
        self.preference = Preference()
        self.chunked = 0  # messages that were sent in chunks: the number of the next one
        # What nobody will wait for, though MPI may still read or write its memory.
        self.given_up: list[Any] = []

    def give_up(self) -> None:
        """Nobody will finish what is open; MPI may still touch its memory."""
        self.given_up += self.open
        self.open.clear()


class MPIRequest(Request):
    """A message under way."""

    __slots__ = ("_begun", "_comm", "_details", "_handle", "_source", "_too_long", "waited")

    def __init__(
        self, comm: MPIMessages, handle: Any, what: str, x: Array, peer: int, tag: int
    ) -> None:
        self._comm = comm
        self._handle = handle
        self._details = (what, x, peer, tag)
        self._begun = time.perf_counter()
        self._source = comm.rank
        self._too_long = 0  # bytes of the message of our own that was cut to fit
        self.waited = False
        comm._records.open[self] = None
        if what == "irecv" and x.nbytes > SHORT:
            comm._monitor.receives[self] = threading.get_ident()

    def wait(self) -> int:
        if not self.waited:
            self._comm._patience.wait(self.finished, self.explain)
        return self._source

    def finished(self) -> bool:
        """Ask MPI once, and keep the books when it is done."""
        what, x, peer, tag = self._details
        comm = self._comm
        try:
            if what == "isend":
                if not self._handle.Test():
                    return False
                comm._sent(self._begun, x, peer, tag)
            else:
                if not comm._test(self._handle, x, peer, tag):
                    return False
                source = comm._received(self._begun, x, peer, tag, self._too_long)
                if source is None:
                    self._handle = comm._chunks_into(x, tag)
                    return False
                self._source = source
        except MessageMismatch:
            self._close()
            raise
        self._close()
        return True

    def _close(self) -> None:
        self.waited = True
        del self._comm._records.open[self]
        if self._comm._monitor.receives:
            self._comm._monitor.receives.pop(self, None)

    def take_chunks(self) -> None:
        """Take those that have come though nobody waits for this message: its sender does."""
        _, x, _, tag = self._details
        comm = self._comm._for_transfers
        if isinstance(self._handle, Chunks):
            self._handle.Test(comm._status)
            return
        # What does not fit is told to whoever waits for this message.
        with contextlib.suppress(MessageMismatch, MPI.Exception):
            if self._handle.Get_status(comm._status) and comm._is_head(x.nbytes):
                chunks = comm._chunks_into(x, tag)
                self._handle.Test()
                self._handle = chunks

    def takes(self, comm: MPIMessages, on_wire: int) -> bool:
        """Whether the rank's next message to itself under this tag comes here."""
        what, x, peer, tag = self._details
        return (
            what != "isend"
            and comm.mpi is self._comm.mpi
            and peer in (ANY, comm.rank)
            and wire_tag(tag, describe(x)[1], x.nbytes, comm._channel) == on_wire
            and not self._handle.Get_status()
        )

    def offer(self, nbytes: int) -> int:
        """A message of so many bytes is about to come: how many there is room for."""
        _, x, _, _ = self._details
        self._too_long = nbytes if nbytes > x.nbytes else 0
        return min(nbytes, x.nbytes)

    def explain(self) -> Wait:
        """What is waited for."""
        return self._comm._explain(*self._details)

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

    def __init__(self, comm: MPIMessages, function: Callable[..., Any], args: tuple) -> None:
        self._comm = comm
        self._error: BaseException | None = None
        self.waited = False

        def body() -> None:
            try:
                function(*args)
            except Stopped:
                pass
            except BaseException as error:
                self._error = comm._monitor.error = error
            finally:
                comm._monitor.strands -= 1

        comm._monitor.strands += 1
        comm._records.background.append(self)
        self._thread = threading.Thread(target=body, daemon=True)
        self._thread.start()

    def wait(self) -> int:
        if not self.waited:
            self._comm._patience.wait(self.finished, self.explain)
        return self._comm.rank

    def finished(self) -> bool:
        """Whether the function has returned; raises what it raised."""
        if self._thread.is_alive():
            return False
        self.waited = True
        if self._error is not None:
            self._comm._monitor.error = None
            raise self._error
        return True

    def explain(self) -> Wait:
        """What is waited for."""
        return self._comm._explain_call("background()", ())
