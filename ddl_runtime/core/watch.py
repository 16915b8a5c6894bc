"""Strict mode: what works by luck is an error, on simulated ranks and on real ones alike.

    a send          ends when its receive has been asked for, however short the message
    a buffer        stays as it is from `isend` to `wait`, and what a receive writes into belongs
                    to no other message under way
    a receive       that was begun is waited for

The first is the doing of what sends; the rest stands here. Each rank has a `Watch`, which knows
the messages that it has under way, on all communicators. Nothing is sent for it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np


class UnsafeBuffer(ValueError):
    """An array was changed, or given to another message, while a message under way used it."""

    inside_program = False  # found at the program's end, it has no line of the program


class NotWaitedFor(ValueError):
    """A program has returned, and a receive that it began has not."""

    inside_program = False  # where it is raised says nothing


class UnderWay:
    """A message that was begun, and its memory."""

    def __init__(self, memory: np.ndarray | None, what: str, begun: str, *, writes: bool) -> None:
        self.memory = memory
        self.what = what
        self.begun = begun  # where in the program a receive was
        self.writes = writes
        self._digest = None if writes else self._sum()

    def _sum(self) -> int | None:
        return None if self.memory is None else zlib.crc32(self.memory.data)

    def compare(self) -> None:
        """What was sent must be what was given."""
        if not self.writes and self._sum() != self._digest:
            raise UnsafeBuffer(
                f"the array of {self.what} was changed before its wait() returned: what has been "
                "sent may be the old values or the new. Wait first, or send a copy"
            )


class Watch:
    """What one rank has under way."""

    def __init__(self) -> None:
        self.open: dict[UnderWay, None] = {}
        self.background: list[Callable[[], int]] = []  # each waits for one function

    def refuse_shared(self, memory: np.ndarray, what: str, *, writes: bool) -> None:
        """Refuse memory of a new message that one under way has, if one of them writes into it."""
        for message in list(self.open):  # functions in the background open others meanwhile
            if message.memory is None or not (writes or message.writes):
                continue
            if np.may_share_memory(memory, message.memory):  # exact, as both are contiguous
                raise UnsafeBuffer(
                    f"{what}: its array shares memory with that of {message.what}, which is still "
                    "under way. Wait for that first, or use another array"
                )

    def conclude(self) -> None:
        """The rank's program has returned: nothing that it has begun may be left."""
        for wait in self.background:
            wait()
        for message in self.open:
            if message.writes:
                raise NotWaitedFor(
                    f"the program has returned without a wait() for {message.what}, begun "
                    f"at {message.begun}. Its message may come at any time, or never: call wait() "
                    "on the request that comm.irecv() returns"
                )
            message.compare()
