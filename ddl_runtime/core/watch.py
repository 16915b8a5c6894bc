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
from typing import Any

from ddl_runtime.diagnosis.frames import spot


class UnsafeBuffer(ValueError):
    """An array was changed, or given to another message, while a message under way used it."""

    inside_program = False  # found at the program's end, it has no line of the program


class NotWaitedFor(ValueError):
    """A program has returned, and a receive that it began has not."""

    inside_program = False  # where it is raised says nothing


class Watch:
    """What one rank has under way."""

    def __init__(self) -> None:
        self.open: dict[Any, None] = {}
        self.background: list[Callable[[], int]] = []  # each waits for one function

    def refuse_shared(self, new: Any) -> Any:
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
