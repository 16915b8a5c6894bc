"""What the parts of one communicator of MPI processes share."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ddl_runtime.devices.choice import Preference
from ddl_runtime.mpi.polling import Monitor, Patience, Polling
from ddl_runtime.mpi.records import Records
from ddl_runtime.mpi.wire import CHANNEL_SHIFT, MPI
from ddl_runtime.records.ledger import Entry
from ddl_runtime.records.timeline import SpanEntry


class MPIContext:
    """One real rank's place in one communicator. `status` is where MPI says what it says of the
    message that was asked about last; with `survivors` other ranks may die and this one go on."""

    def __init__(
        self, mpi: MPI.Intracomm, members: Sequence[int], nodes: Sequence[int], records: Records,
        monitor: Monitor, label: str = "", *, survivors: bool = False,
    ) -> None:  # fmt: skip
        self.rank = mpi.rank
        self.size = mpi.size
        self.node = nodes[members[mpi.rank]]
        self.label = label
        self.mpi = mpi
        self.members = members
        self.nodes = nodes
        self.records = records
        self.monitor = monitor
        self.survivors = survivors
        self.patience: Polling = Patience(monitor, sum(node == self.node for node in nodes))
        self.spans: list[SpanEntry] | None = None if label else records.spans
        self.channel = 1 << CHANNEL_SHIFT if label else 0
        self.status = MPI.Status()
        self.lines: dict[tuple[Any, ...], Any] = {}  # transfers that MPI knows nothing of yet

    @property
    def ledger(self) -> list[Entry]:
        """What this rank has sent, on whatever communicator."""
        return self.records.ledger

    @property
    def preference(self) -> Preference:
        """Which way messages of arrays on devices are to go."""
        return self.records.preference

    @property
    def me(self) -> int:
        """This rank's number in the whole program."""
        return self.members[self.rank]

    @property
    def others(self) -> tuple[int, ...]:
        """All members but this rank."""
        return tuple(m for i, m in enumerate(self.members) if i != self.rank)

    @cached_property
    def for_transfers(self) -> MPIContext:
        """The same for what any strand of this rank may move on: what MPI says then must not
        stand where the strand that owns this one looks for what MPI says to it."""
        twin = copy.copy(self)
        twin.status = MPI.Status()
        return twin

    def labelled(self, label: str) -> MPIContext:
        """The same ranks, for messages that are not the program's own."""
        return self._like(self.mpi, self.members, label)

    def of(self, mpi: MPI.Intracomm) -> MPIContext:
        """The same for another communicator of MPI's, whose ranks are among these."""
        ranks = MPI.Group.Translate_ranks(mpi.group, range(mpi.size), self.mpi.group)
        return self._like(mpi, [self.members[rank] for rank in ranks], "")

    def _like(self, mpi: MPI.Intracomm, members: Sequence[int], label: str) -> MPIContext:
        common = self.nodes, self.records, self.monitor, label
        return MPIContext(mpi, members, *common, survivors=self.survivors)

    def now(self) -> float:
        """Seconds since the program began."""
        return time.perf_counter() - self.records.began

    def note(
        self, name: str, kind: str, begun: float, peer: int = -1, tag: int = -1, nbytes: int = 0
    ) -> None:
        """Put what began then, by the machine's clock, and ends now on the timeline."""
        if self.spans is not None:
            start = begun - self.records.began
            self.spans.append((name, kind, start, self.now(), peer, tag, nbytes))
