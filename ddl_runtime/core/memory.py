"""What a rank says that it holds: `with comm.hold(nbytes, "activations"):`, up to a capacity.

Nothing is allocated: bytes are a number that programs raise and lower, as `work` moves the clock.
So a simulated rank holds what no laptop has. Real ranks count the same numbers.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from ddl_runtime.core.checks import whole_number
from ddl_runtime.diagnosis.shortage import OverCapacity, Shortage
from ddl_runtime.records.memory import Change, tally

RELEASED = -1


class Now(Protocol):
    """What tells the time."""

    def now(self) -> float: ...


class RankMemory:
    """What one rank holds: `changes` are written down in the order in which its program runs."""

    __slots__ = ("capacity", "changes", "rank", "used")

    def __init__(self, rank: int, capacity: float | None) -> None:
        self.rank = rank
        self.capacity = math.inf if capacity is None else capacity
        self.changes: list[Change] = []
        self.used = 0

    @classmethod
    def where_counted(cls, rank: int, trace: bool, capacity: float | None) -> RankMemory | None:
        """None where no timeline is wanted and no capacity given: then nothing is counted."""
        return cls(rank, capacity) if trace or capacity is not None else None

    def shortage(self, time: float, nbytes: int, what: str) -> OverCapacity:
        """The error for what does not fit."""
        held = tally(self.changes)
        return OverCapacity(Shortage(self.rank, time, nbytes, what, self.capacity, held))


class Held:
    """Bytes that count as held until `release()`, or to the end of a `with`."""

    __slots__ = ("_clock", "_memory", "_what", "nbytes")

    def __init__(self, memory: RankMemory, clock: Now, nbytes: int, what: str) -> None:
        if nbytes.__class__ is not int or nbytes < 0 or what.__class__ is not str:
            nbytes = check_hold(nbytes, what)
        self._memory, self._clock, self._what, self.nbytes = memory, clock, what, nbytes
        time, used = clock.now(), memory.used + nbytes
        if used > memory.capacity:
            raise memory.shortage(time, nbytes, what)
        memory.used = used
        memory.changes.append((time, nbytes, what))

    def release(self) -> None:
        """These bytes are free again; once."""
        nbytes, memory = self.nbytes, self._memory
        if nbytes == RELEASED:
            raise ValueError(f"rank {memory.rank} has released these {self._what} already")
        self.nbytes = RELEASED
        memory.used -= nbytes
        memory.changes.append((self._clock.now(), -nbytes, self._what))

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        if self.nbytes != RELEASED:
            self.release()


class NotCounted(Held):
    """The same where nothing is counted: one object for all, which takes no note."""

    __slots__ = ()

    def __init__(self) -> None:
        self.nbytes = 0

    def release(self) -> None:
        pass


NOT_COUNTED = NotCounted()


def check_hold(nbytes: Any, what: Any) -> int:
    """The bytes as a plain number, or an error that says what is wrong."""
    if what.__class__ is not str:
        raise TypeError(f"hold: say what it is in a word, such as 'activations', not {what!r}")
    return whole_number(nbytes, f"hold: bytes of {what}", 0)


def check_capacity(memory: Any) -> None:
    """Refuse what is no number of bytes that a rank could have."""
    if memory is None:
        return
    if isinstance(memory, bool) or not isinstance(memory, (int, float)):
        raise TypeError(f"memory is the bytes that each rank has, or None, not {memory!r}")
    if not memory >= 0:
        raise ValueError(f"memory: a rank has zero or more bytes, not {memory!r}")
