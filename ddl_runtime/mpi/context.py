"""What the parts of one communicator of MPI processes share: its ranks, its clock, its records."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from ddl_runtime.core import arrays, parts
from ddl_runtime.core.arrays import Array, Operation
from ddl_runtime.core.collective_log import CollectiveLog
from ddl_runtime.core.memory import RankMemory
from ddl_runtime.core.watch import Watch
from ddl_runtime.devices.choice import Preference
from ddl_runtime.devices.staging import Copies
from ddl_runtime.mpi.polling import Monitor, Polling
from ddl_runtime.mpi.wire import CHANNEL_SHIFT, MPI
from ddl_runtime.records.ledger import Entry
from ddl_runtime.records.timeline import SpanEntry


class Records:
    """What all communicators of one real rank write down during one program: messages, spans, and
    what MPI may still read or write."""

    def __init__(
        self, trace: bool, copies: Copies, strict: bool = False, memory: RankMemory | None = None
    ) -> None:
        self.ledger: list[Entry] = []
        self.logs: list[CollectiveLog] = []
        self.received: list[Entry] = []  # source, tag, bytes, kind
        self.fetched: list[tuple[int, int]] = []  # owner, bytes read from its window
        self.spans: list[SpanEntry] | None = [] if trace else None
        self.watch = Watch() if strict else None
        self.memory = memory
        # Begun and not finished: MPI may still read or write their memory.
        self.open: dict[Any, None] = {}
        self.background: list[Any] = []
        self.windows: list[Any] = []  # shared memory and windows to give back
        self.began = 0.0
        self.copies = copies
        self.preference = Preference()
        self.chunked = 0  # messages that were sent in chunks: the number of the next one
        # What will not be waited for, though MPI may still read or write its memory.
        self.given_up: list[Any] = []


class MPIContext(parts.RankContext):
    """One real rank's place in one communicator. MPI writes into `status` what it knows of the
    last message. With `survivors` this rank goes on when another dies."""

    def __init__(
        self, mpi: MPI.Intracomm, members: Sequence[int], nodes: Sequence[int], records: Records,
        monitor: Monitor, label: str = "", *, survivors: bool = False, number: Hashable = 0,
    ) -> None:  # fmt: skip
        written = records.ledger, records.logs, records.spans, records.watch, records.memory
        super().__init__(members, number, mpi.rank, nodes[members[mpi.rank]], label, *written)
        self.mpi = mpi
        self.nodes = nodes
        self.records = records
        self.monitor = monitor
        self.survivors = survivors
        self.polling = Polling(monitor, sum(node == self.node for node in nodes))
        self.channel = 1 << CHANNEL_SHIFT if label else 0
        self.status = MPI.Status()
        # So many of one label and of the same ranks were made from it, in one order on all ranks.
        self._made: Counter[tuple[str, tuple[int, ...]]] = Counter()
        self.lines: dict[tuple[Any, ...], Any] = {}  # transfers that MPI knows nothing of yet

    @property
    def preference(self) -> Preference:
        return self.records.preference

    @property
    def me(self) -> int:
        """This rank's number in the whole program."""
        return self.members[self.rank]

    @cached_property
    def for_transfers(self) -> MPIContext:
        """A copy of this context with a status of its own, for transfers that any strand of this
        rank may continue. Else MPI would write their status over that of the strand that owns this
        context."""
        twin = copy.copy(self)
        twin.status = MPI.Status()
        return twin

    def of(self, mpi: MPI.Intracomm, label: str = "") -> MPIContext:
        """The context of another communicator of MPI, whose ranks are among these. A `label` marks
        messages that are not the program's own."""
        ranks = MPI.Group.Translate_ranks(mpi.group, range(mpi.size), self.mpi.group)
        members = [self.members[rank] for rank in ranks]
        common = self.nodes, self.records, self.monitor, label
        made = label, tuple(members)
        number = self.number, *made, self._made[made]
        self._made[made] += 1
        return MPIContext(mpi, members, *common, survivors=self.survivors, number=number)

    def note(
        self, name: str, kind: str, begun: float, peer: int = -1, tag: int = -1, nbytes: int = 0
    ) -> None:
        """Put a span on the timeline, from `begun` (`time.perf_counter`) until now."""
        if self.spans is not None:
            began = self.records.began
            end = time.perf_counter() - began
            self.spans.append((name, kind, begun - began, end, peer, tag, nbytes))


class Clock(parts.Clock):
    """The clock that all ranks of a node share, and what passes the time."""

    __slots__ = ()
    _context: MPIContext

    def now(self) -> float:
        return time.perf_counter() - self._context.records.began

    def work(self, seconds: float, flops: float, nbytes: float) -> None:
        with self.span("work", kind="work"):
            time.sleep(seconds)
            _multiply_and_add(flops)
            _move(nbytes)

    def combine(self, a: Array, b: Array, out: Array, op: Operation) -> None:
        if self._context.spans is None:
            arrays.combine(op, a, b, out)
        else:
            begun = self.now()
            arrays.combine(op, a, b, out)
            self.note("reduce", "reduce", begun, out.nbytes)


def _multiply_and_add(flops: float) -> None:
    """Execute that many floating-point operations, in products of small matrices."""
    width = 128
    matrix = np.ones((width, width))
    each = 2 * width**3
    for _ in range(int(flops // each)):
        matrix @ matrix
    rows = int(flops % each / (2 * width**2))
    matrix[:rows] @ matrix


BLOCK = 1 << 26  # bytes


def _move(nbytes: float) -> None:
    """Read and write that many bytes of the memory, half of them each."""
    half = int(nbytes / 2)
    source, target = _blocks() if half else (np.empty(0), np.empty(0))
    for begin in range(0, half, BLOCK):
        part = min(BLOCK, half - begin)
        target[:part] = source[:part]


@cache
def _blocks() -> tuple[np.ndarray, np.ndarray]:
    """Two blocks of memory that have been touched."""
    return np.ones(BLOCK, np.uint8), np.ones(BLOCK, np.uint8)
