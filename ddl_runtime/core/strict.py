"""The messages of strict ranks: sends, receives and requests, with a `Watch` over their memory."""

from typing import Any

from ddl_runtime.core.arrays import Array, Phantom
from ddl_runtime.core.parts import PointToPoint, Request
from ddl_runtime.core.watch import UnderWay, UnsafeBuffer, Watch
from ddl_runtime.diagnosis.frames import program_place


class StrictRequest(UnderWay, Request):
    """A message under way that is watched."""

    __slots__ = ("_watch", "inner", "waited")

    def begin(self, watch: Watch, inner: Request) -> Request:
        """Note what is sent, or where in the program a receive was begun."""
        self._watch, self.inner, self.waited = watch, inner, False
        if self.writes:
            self.place = program_place(3)  # this, `irecv`, and that of `Comm`
        elif self.memory is not None:
            self.sent = inner.kept or bytearray(self.memory.data)
        watch.open[self] = None
        return self

    def wait(self) -> int:
        source = self.inner.wait()
        if not self.waited:
            self.close()
        return source

    def close(self) -> None:
        """Note that the message has ended, and check that its array was not changed meanwhile."""
        self.waited = True
        self._watch.open.pop(self, None)
        self.compare()

    @property
    def purpose(self) -> str:
        return self.inner.purpose

    @purpose.setter
    def purpose(self, purpose: str) -> None:
        self.inner.purpose = purpose


class StrictMessages:
    """The messages of one rank on one communicator, watched."""

    def __init__(self, messages: PointToPoint, watch: Watch) -> None:
        self._messages = messages
        self._watch = watch

    def isend(self, x: Array, to: int, tag: int = 0) -> Request:
        request = StrictRequest(x, "isend", to, tag)
        if self._watch.open:
            self._watch.refuse_shared(request)
        return request.begin(self._watch, self._messages.isend(x, to, tag))

    def irecv(self, x: Array, source: int, tag: int = 0) -> Request:
        request = StrictRequest(x, "irecv", source, tag)
        if self._watch.open:
            self._watch.refuse_shared(request)
        return request.begin(self._watch, self._messages.irecv(x, source, tag))

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        self._watch.refuse_shared(UnderWay(x, "send", to, tag))
        self._messages.send(x, to, tag)

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        self._watch.refuse_shared(UnderWay(x, "recv", source, tag))
        return self._messages.recv(x, source, tag)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        if x.__class__ is Phantom is y.__class__:  # no memory that must be watched
            return self._messages.sendrecv(x, to, y, source, tag)
        outgoing = self._watch.refuse_shared(UnderWay(x, "send", to, tag))
        incoming = self._watch.refuse_shared(UnderWay(y, "recv", source, tag))
        if outgoing.shares(incoming):
            raise UnsafeBuffer(
                f"sendrecv to {to} and from {source}: the array that is sent and the one that is "
                "received into share memory. Receive into another array"
            )
        return self._messages.sendrecv(x, to, y, source, tag)

    def wait_any(self, requests: list[Any]) -> Any:
        inner = [getattr(request, "inner", request) for request in requests]
        done = self._messages.wait_any(inner)
        chosen = next(mine for mine, its in zip(requests, inner, strict=True) if its is done)
        if isinstance(chosen, StrictRequest):
            chosen.close()
        return chosen
