"""The parts that a communicator is made of, the same on every ground.

    point_to_point   messages from one rank to another
    clock            time, and what spends it
    groups           communicators of the same ranks, of some, or of the living
    windows          memory that other ranks see

Each part takes a `RankContext` and stands in a file of the same name in `mpi` and in `simulator`.
The clock stands beside the context, and groups beside the communicator.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, TypeVar

from ddl_runtime.core.arrays import Array, Operation
from ddl_runtime.core.collective_log import CollectiveLog
from ddl_runtime.core.memory import RankMemory
from ddl_runtime.core.watch import Watch
from ddl_runtime.core.window import SharedMemory, Window
from ddl_runtime.devices.choice import Preference
from ddl_runtime.records.ledger import Entry
from ddl_runtime.records.timeline import SpanEntry

C = TypeVar("C")  # a communicator


class Request(ABC):
    """What a call that does not wait returns: a message under way, or a function that runs in the
    background."""

    waited: bool  # whether it has been waited for
    purpose: str = ""  # what it is for, in the words of a program's user: for a diagnosis
    kept: bytearray | None = None  # a copy of what is sent, where the ground has made one

    @abstractmethod
    def wait(self) -> int:
        """Block until done. Returns the rank the message came from (for a send: this rank)."""


R = TypeVar("R", bound=Request)


def not_waited_for(requests: Sequence[R]) -> list[R]:
    """The requests that `wait_any` may choose from: those that have not been waited for."""
    still_open = [request for request in requests if not request.waited]
    if not still_open:
        raise ValueError(
            "wait_any: all of these requests have been waited for already"
            if requests
            else "wait_any: the list of requests is empty"
        )
    return still_open


class RankContext(ABC):
    """This rank's place in one communicator, and what its parts write down.

    `members` are the ranks of all in the whole program, `number` is what tells this communicator
    from all others on each of them. `label` names the library's own messages
    in the ledger, "" the program's. `ledger` holds all that this rank has sent, on any
    communicator, `logs` the collectives on each of the program's communicators; `spans` is None
    where no timeline is wanted, `watch` where ranks are not strict, `memory` where what is held is
    not counted.
    """

    __slots__ = ("kind", "label", "ledger", "logs", "members", "memory", "node", "number", "rank",
                 "size", "spans", "watch")  # fmt: skip

    def __init__(
        self, members: Sequence[int], number: Hashable, rank: int, node: int, label: str,
        ledger: list[Entry], logs: list[CollectiveLog], spans: list[SpanEntry] | None,
        watch: Watch | None, memory: RankMemory | None,
    ) -> None:  # fmt: skip
        self.number = number
        self.rank = rank
        self.size = len(members)
        self.node = node
        self.members = members
        self.label = label
        self.kind = label or "host"
        self.ledger = ledger
        self.logs = [] if label else logs
        self.spans = None if label else spans
        self.watch = None if label else watch
        self.memory = memory

    @property
    @abstractmethod
    def preference(self) -> Preference:
        """Which way messages of arrays on devices are to go."""

    @property
    def others(self) -> tuple[int, ...]:
        return tuple(m for rank, m in enumerate(self.members) if rank != self.rank)


class PointToPoint(Protocol):
    """Messages between two ranks. `Comm` documents these calls, and has checked ranks and tags."""

    def isend(self, x: Array, to: int, tag: int = 0) -> Request: ...
    def irecv(self, x: Array, source: int, tag: int = 0) -> Request: ...
    def send(self, x: Array, to: int, tag: int = 0) -> None: ...
    def recv(self, x: Array, source: int, tag: int = 0) -> int: ...
    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int: ...
    def wait_any(self, requests: list[Any]) -> Any: ...


class Clock(ABC):
    """Time, and what spends it."""

    __slots__ = ("_context",)

    def __init__(self, context: RankContext) -> None:
        self._context = context

    @abstractmethod
    def now(self) -> float: ...

    def note(self, name: str, kind: str, begun: float, nbytes: int = 0) -> None:
        """Put what began then and ends now on the timeline."""
        spans = self._context.spans
        if spans is not None:
            spans.append((name, kind, begun, self.now(), -1, -1, nbytes))

    @contextmanager
    def span(self, name: str, kind: str = "span") -> Iterator[None]:
        begun = self.now()
        try:
            yield
        finally:
            self.note(name, kind, begun)

    @abstractmethod
    def work(self, seconds: float, flops: float, nbytes: float) -> None: ...
    @abstractmethod
    def combine(self, a: Array, b: Array, out: Array, op: Operation) -> None: ...


class Groups(Protocol[C]):
    """Other communicators of these ranks; and ranks that die, or outlive others."""

    def meeting(self, label: str) -> PointToPoint:
        """A way to send messages among the same ranks that meet no others. The ledger and the
        diagnosis of a deadlock name them by `label`, "barrier" for instance."""

    def aside(self, label: str) -> C:
        """A communicator of the same ranks; its messages have this `label` and meet no others."""

    def duplicate(self) -> C:
        """A place for background functions, where their messages meet no others."""

    def split(self, colour: int | None, key: int, meet: Callable[[], None]) -> C | None:
        """The group that this rank asks for; `meet` waits until all ranks have asked."""

    def subgroup(self, members: Sequence[int], meet: Callable[[], None]) -> C:
        """The group of these ranks, which alone ask; `meet` waits until all of them have."""

    def on_this_strand(self, place: C) -> C:
        """The communicator of that place, for functions that this rank runs itself."""

    def start(
        self, place: C, function: Callable[..., Any], args: tuple[Any, ...],
        after: Request | None = None, light: bool = False,
    ) -> Request:  # fmt: skip
        """Begin `function` concurrently, with the communicator of that place and `args`; but not
        before what ran there before it is done, where that is given. A light one needs no thread
        of its own."""

    def die(self) -> NoReturn: ...
    def revoke(self) -> None: ...
    def agree(self, yes: bool) -> bool: ...
    def shrink(self) -> C: ...


class Windows(Protocol):
    """Memory that other ranks see."""

    def shared_memory(self, nbytes: int) -> SharedMemory: ...
    def window(self, size: int, dtype: Any) -> Window: ...
