"""The messages of strict ranks: sends, receives and requests, with a `Watch` over their memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddl_runtime.core.arrays import Array, Phantom, as_bytes, check_writable, describe, type_name
from ddl_runtime.core.element_types import is_tensor
from ddl_runtime.core.parts import PointToPoint, Request
from ddl_runtime.core.watch import UnsafeBuffer, Watch
from ddl_runtime.diagnosis.deadlock import call_text
from ddl_runtime.diagnosis.frames import program_place


class StrictRequest(Request):
    """A message that was asked for, and its memory, if the host can read it. Once it has begun it
    is watched, until its `wait()`."""

    __slots__ = ("_given", "_sent", "_watch", "inner", "memory", "place", "waited", "writes")

    def __init__(self, x: Array, verb: str, peer: int, tag: int) -> None:
        nbytes, _ = describe(x)  # what cannot be sent at all is refused first
        self.writes = verb.endswith("recv")
        if self.writes:
            check_writable(x)
        self.memory = None
        if nbytes and x.__class__ is np.ndarray:
            self.memory = x
        elif nbytes and is_tensor(x) and x.device.type == "cpu":
            self.memory = as_bytes(x)
        self._given = x, verb, peer, tag
        self._sent: bytearray | None = None

    def shares(self, other: StrictRequest) -> bool:
        """Whether both use the same memory, and one of them writes there."""
        own, its = self.memory, other.memory
        if own is None or its is None or not (self.writes or other.writes):
            return False
        return np.may_share_memory(own, its)  # exact, as both are contiguous

    @property
    def what(self) -> str:
        x, verb, peer, tag = self._given
        return call_text(verb, peer, tag, x.nbytes, type_name(x))

    def compare(self) -> None:
        """What was sent must be what was given."""
        # A bytearray is compared with other memory as it lies there, without a copy.
        if self._sent is not None and self._sent != self.memory:
            raise UnsafeBuffer(
                f"the array of {self.what} was changed before its wait() returned: what has been "
                "sent may be the old values or the new. Wait first, or send a copy"
            )

    def begin(self, watch: Watch, inner: Request) -> Request:
        """Note what is sent, or where in the program a receive was begun."""
        self._watch, self.inner, self.waited = watch, inner, False
        if self.writes:
            self.place = program_place(2)  # this, and `irecv`
        elif self.memory is not None:
            self._sent = inner.kept or bytearray(self.memory.data)
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
        self._sent = None

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
        self._watch.refuse_shared(StrictRequest(x, "send", to, tag))
        self._messages.send(x, to, tag)

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        self._watch.refuse_shared(StrictRequest(x, "recv", source, tag))
        return self._messages.recv(x, source, tag)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        if x.__class__ is Phantom is y.__class__:  # no memory that must be watched
            return self._messages.sendrecv(x, to, y, source, tag)
        outgoing = self._watch.refuse_shared(StrictRequest(x, "send", to, tag))
        incoming = self._watch.refuse_shared(StrictRequest(y, "recv", source, tag))
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
