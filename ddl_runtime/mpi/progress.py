"""Messages that MPI is told of later than the program says: what moves them on.

Of an array on a device MPI can send nothing before kernels and copies are done. So such a message
is a list of steps (`device_protocols`): each begins something, and the next can only follow when
that is done. A list is a generator that yields where it would have to wait, and says for whom.
Whenever this rank waits for anything at all, it goes on with every list: MPI promises as much of
its own.

MPI matches messages in the order in which it was told of them. So who is told of later, in host
memory or not, waits in line: nothing overtakes what was sent before, to one rank under one tag.
What to look at: `OrderedTurn`; without it an array in host memory arrives in place of the one
before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from ddl_runtime.core.request import Request
from ddl_runtime.diagnosis.waits import Wait
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.diagnosis import Diagnosis
from ddl_runtime.mpi.polling import PEER

Steps = Generator[
    str, None, Any
]  # yields for whom it waits; returns the rank that a message came from


class Transfer(Request):
    """A message under way, step by step."""

    def __init__(
        self, diagnosis: Diagnosis, details: tuple[str, Any, int, int], steps: Steps
    ) -> None:
        self._diagnosis = diagnosis
        self._context = context = diagnosis.context
        self._details = details  # the call, the array, the other rank, the tag
        self._steps = steps
        self._source: int = context.rank
        self._error: Exception | None = None
        self._ended = False
        self.waits_for = PEER
        self.waited = False
        context.records.open[self] = None
        context.monitor.transfers[self] = None
        with context.monitor.driving:
            self.advance()

    def wait(self) -> int:
        if not self.waited:
            self._context.patience.wait(self.finished, self.explain)
        return self._source

    def advance(self) -> None:
        """Go on as far as possible without waiting. Only who holds `driving` may call this."""
        if self._ended:
            return
        try:
            self.waits_for = next(self._steps)
            return
        except StopIteration as end:
            self._source = self._context.rank if end.value is None else end.value
        except Exception as error:
            self._error = error  # for whoever waits for this message, which may be nobody yet
        self._ended = True
        self._context.monitor.transfers.pop(self, None)

    def finished(self) -> bool:
        """Whether it is done; raises what went wrong on the way."""
        self._context.monitor.drive()
        if not self._ended:
            return False
        self.waited = True
        self._context.records.open.pop(self, None)
        if self._error is not None:
            raise self._error
        return True

    def explain(self) -> Wait:
        """What is waited for."""
        return self._diagnosis.explain(*self._details)

    @property
    def sends(self) -> bool:
        return self._details[0].endswith("send")

    def takes(self, context: MPIContext, on_wire: int) -> bool:
        """Not this: the receive that it has told MPI of does."""
        return False

    def abandon(self) -> None:
        """The program has ended without it; it is kept, for copies may still use its memory."""


class OrderedTurn:
    """`with Line(...) as line:` is a place among messages of which MPI must be told in order; it
    is left when MPI has been told, or will never be."""

    def __init__(
        self, lines: dict[tuple[Any, ...], deque[OrderedTurn]], key: tuple[Any, ...]
    ) -> None:
        self._lines = lines
        self._key = key

    def __enter__(self) -> OrderedTurn:
        self._lines.setdefault(self._key, deque()).append(self)
        return self

    def first(self) -> bool:
        """Whether it is this one's turn."""
        return self._lines[self._key][0] is self

    def __exit__(self, *_: object) -> None:
        line = self._lines[self._key]
        line.remove(self)
        if not line:
            del self._lines[self._key]


def until(done: Callable[[], bool], whom: Callable[[], str] | str) -> Steps:
    """Wait for something."""
    while not done():
        yield whom if isinstance(whom, str) else whom()
