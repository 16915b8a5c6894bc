"""Strict mode: what works by luck is an error, on simulated ranks and on real ones alike.

    a send          ends when its receive has been asked for, however short the message
    a buffer        stays as it is from `isend` to `wait`, and what a receive writes into belongs
                    to no other message under way
    a receive       that was begun is waited for

The first is the doing of what sends; the rest stands here. Each rank has a `Watch`, which knows
the messages that it has under way, on all communicators. Nothing is sent for it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ddl_runtime.core.arrays import Array, as_bytes, check_writable, describe, type_name
from ddl_runtime.core.element_types import is_tensor
from ddl_runtime.diagnosis.deadlock import call_text
from ddl_runtime.diagnosis.frames import spot


class UnsafeBuffer(ValueError):
    """An array was changed, or given to another message, while a message under way used it."""

    inside_program = False  # found at the program's end, it has no line of the program


class NotWaitedFor(ValueError):
    """A program has returned, and a receive that it began has not."""

    inside_program = False  # where it is raised says nothing


class UnderWay:
    """A message that was asked for, and its memory, if the host can read it."""

    __slots__ = ("_given", "memory", "place", "sent", "writes")

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
        self.sent: bytearray | None = None  # while it is under way

    def shares(self, other: UnderWay) -> bool:
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
        if self.sent is not None and self.sent != self.memory:
            raise UnsafeBuffer(
                f"the array of {self.what} was changed before its wait() returned: what has been "
                "sent may be the old values or the new. Wait first, or send a copy"
            )


class Watch:
    """What one rank has under way."""

    def __init__(self) -> None:
        self.open: dict[UnderWay, None] = {}
        self.background: list[Callable[[], int]] = []  # each waits for one function

    def refuse_shared(self, new: UnderWay) -> UnderWay:
        """Refuse a message in whose memory one under way writes, or that writes into its."""
        for message in [*self.open]:  # functions in the background open others meanwhile
            if new.shares(message):
                raise UnsafeBuffer(
                    f"{new.what}: its array shares memory with that of {message.what}, which is "
                    "still under way. Wait for that first, or use another array"
                )
        return new

    def conclude(self) -> None:
        """The rank's program has returned: nothing that it has begun may be left."""
        for wait in self.background:
            wait()
        for message in self.open:
            if message.writes:
                raise NotWaitedFor(
                    f"the program has returned without a wait() for {message.what}, begun "
                    f"at {spot(*message.place)}. Its message may come at any time, or never: "
                    "call wait() on the request that comm.irecv() returns"
                )
            message.compare()
