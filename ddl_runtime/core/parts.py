"""The parts that a communicator is made of, the same on every ground.

    point_to_point   messages from one rank to another
    clock            time, and what spends it
    groups           the same ranks once more, or some of them
    windows          memory that other ranks see
    failures         ranks that die, and those that go on

Each part takes a `RankContext` and stands in a file of the same name in `mpi` and in `simulator`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Protocol, TypeVar

from ddl_runtime.core.arrays import Array, Operation
from ddl_runtime.core.request import Request
from ddl_runtime.core.shared_memory import SharedMemory
from ddl_runtime.core.window import Window
from ddl_runtime.devices.choice import Preference
from ddl_runtime.records.ledger import Entry
from ddl_runtime.records.timeline import SpanEntry

C = TypeVar("C")  # a communicator
C_co = TypeVar("C_co", covariant=True)


class RankContext(Protocol):
    """This rank's place in one communicator, and what its parts write down."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def node(self) -> int: ...

    @property
    def label(self) -> str:
        """What messages of the library's own are called in the ledger; "" for the program's."""

    @property
    def members(self) -> Sequence[int]:
        """The rank of each member in the whole program."""

    @property
    def ledger(self) -> list[Entry]:
        """Every message that this rank has sent, on whatever communicator."""

    @property
    def spans(self) -> list[SpanEntry] | None:
        """What it did when; None if nobody wants to know."""

    @property
    def preference(self) -> Preference:
        """Which way messages of arrays on devices are to go."""


class PointToPoint(Protocol):
    """Messages; `Comm` says what its verbs mean."""

    def isend(self, x: Array, to: int, tag: int = 0) -> Request: ...

    def irecv(self, x: Array, source: int, tag: int = 0) -> Request: ...

    def send(self, x: Array, to: int, tag: int = 0) -> None: ...

    def recv(self, x: Array, source: int, tag: int = 0) -> int: ...

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int: ...

    def wait_any(self, requests: Sequence[Any]) -> int: ...


class Clock(Protocol):
    """Time, and what spends it."""

    def now(self) -> float: ...

    def span(self, name: str, kind: str = "span") -> AbstractContextManager[None]: ...

    def work(self, seconds: float, flops: float) -> None: ...

    def combine(self, a: Array, b: Array, out: Array, op: Operation) -> None: ...


class Groups(Protocol[C]):
    """Other communicators of these ranks."""

    def meeting(self, label: str) -> PointToPoint:
        """The same ranks, for messages that meet no others, and stand in the ledger and in the
        diagnosis of a deadlock under their `label`, as "barrier" for instance."""

    def aside(self, label: str) -> C:
        """The same as a whole communicator."""

    def duplicate(self) -> C:
        """A place for background functions, where their messages meet no others."""

    def announce(self, colour: int | None, key: int) -> None:
        """Say which group this rank wants to be in, before all ranks meet."""

    def form(self, colour: int | None, key: int) -> C | None:
        """Make the group; every rank has announced itself by now."""

    def start(self, place: C, function: Callable[..., Any], args: tuple[Any, ...]) -> Request:
        """Begin `function` concurrently, with the communicator of that place and `args`."""


class Windows(Protocol):
    """Memory that other ranks see."""

    def shared_memory(self, nbytes: int) -> SharedMemory: ...

    def window(self, size: int, dtype: Any) -> Window: ...


class Failures(Protocol[C_co]):
    """Ranks that die, and those that go on without them."""

    def die(self) -> NoReturn: ...

    def revoke(self) -> None: ...

    def agree(self, yes: bool) -> bool: ...

    def shrink(self) -> C_co: ...
