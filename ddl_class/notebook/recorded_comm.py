"""Who has contributed to what: an all-reduce run on vectors that remember.

Rank r's vector holds nothing but B^r, with B a power of two. Any sum of such vectors is a number
whose digits to the base B say how often each rank is in it, whatever order they were added in and
wherever the vector was cut. Float64 has 52 bits for them: 13 for each of 4 ranks, 3 for each of
16. A witness stands between the program and its communicator, and notes the digits at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_teach.comm import Comm, Request

MOST_RANKS = 16
BITS = 52  # whole numbers up to 2**53 are exact in float64

Note = tuple[int, np.ndarray]
"""How many messages a rank had received, and what its vector then held."""


def witness(comm: Comm, allreduce: Callable[..., Any], chunks: int) -> list[Note]:
    """Run `allreduce` on vectors of one number a chunk; returns this rank's notes."""
    x = np.full(chunks, float(_base(comm.size) ** comm.rank))
    notes = Notes(x)
    allreduce(RecordedComm(comm, notes), x)
    notes.take()
    return notes.taken


def contributions(values: np.ndarray, ranks: int) -> np.ndarray:
    """How often each rank is in each number: a row per number, -1 where it is no such sum.

    >>> contributions(np.array([1.0, 1.0 + 2.0**26, 0.5]), ranks=2)
    array([[ 1,  0],
           [ 1,  1],
           [-1, -1]])
    """
    base = _base(ranks)
    sums = np.isfinite(values) & (values >= 0) & (values < float(base) ** ranks)
    sums[sums] = values[sums] == np.floor(values[sums])
    whole = np.where(sums, values, 0.0).astype(np.int64)
    digits = whole[:, None] // base ** np.arange(ranks) % base
    return np.where(sums[:, None], digits, -1)


def _base(ranks: int) -> int:
    return 2 ** (BITS // ranks)


class Notes:
    """What one rank's vector held, and after how many messages."""

    def __init__(self, x: np.ndarray) -> None:
        self.received = 0
        self.taken: list[Note] = [(0, x.copy())]
        self._x = x

    def take(self) -> None:
        """Note the vector, if it has changed."""
        if not np.array_equal(self._x, self.taken[-1][1], equal_nan=True):
            self.taken.append((self.received, self._x.copy()))

    def arrived(self, y: Any) -> None:
        """A message came into `y`; an empty one brings nothing."""
        self.received += y.nbytes > 0


class RecordedComm:
    """A communicator that takes a note at the beginning of each call."""

    def __init__(self, comm: Comm, notes: Notes) -> None:
        self._comm = comm
        self._notes = notes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._notes.take()
        return getattr(self._comm, name)

    def recv(self, x: Any, source: int, tag: int = 0) -> int:
        self._notes.take()
        source = self._comm.recv(x, source, tag)
        self._notes.arrived(x)
        return source

    def sendrecv(self, x: Any, to: int, y: Any, source: int, tag: int = 0) -> int:
        self._notes.take()
        source = self._comm.sendrecv(x, to, y, source, tag)
        self._notes.arrived(y)
        return source

    def irecv(self, x: Any, source: int, tag: int = 0) -> RecordedRequest:
        self._notes.take()
        return RecordedRequest(self._comm.irecv(x, source, tag), x, self._notes)

    def isend(self, x: Any, to: int, tag: int = 0) -> RecordedRequest:
        self._notes.take()
        return RecordedRequest(self._comm.isend(x, to, tag), np.empty(0), self._notes)

    def wait_any(self, requests: Sequence[RecordedRequest]) -> int:
        self._notes.take()
        place = self._comm.wait_any([request.inner for request in requests])
        self._notes.arrived(requests[place].y)
        return place

    def split(self, colour: int | None, key: int = 0) -> RecordedComm | None:
        group = self._comm.split(colour, key)
        return None if group is None else RecordedComm(group, self._notes)


class RecordedRequest(Request):
    """A request that takes a note when it is waited for."""

    def __init__(self, inner: Request, y: Any, notes: Notes) -> None:
        self.inner = inner
        self.y = y
        self._notes = notes

    @property
    def waited(self) -> bool:
        return self.inner.waited

    def wait(self) -> int:
        self._notes.take()
        first = not self.inner.waited
        source = self.inner.wait()
        if first:
            self._notes.arrived(self.y)
        return source
