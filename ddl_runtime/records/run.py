"""What a program leaves behind, the same from every ground."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ddl_runtime.core.collective_log import CollectiveLog, disagreement
from ddl_runtime.diagnosis import deadlock
from ddl_runtime.diagnosis.waits import Lost
from ddl_runtime.records.ledger import DEVICE_KINDS, Entry, Ledger
from ddl_runtime.records.memory import Change, MemoryTrack
from ddl_runtime.records.timeline import SpanEntry, Timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Run:
    """The results of all ranks, the seconds it took (measured or virtual), a ledger per rank, the
    timeline, and what ranks held (`Comm.hold`). If it is `symmetric`, all but the results is rank
    0's alone: others have the same, with other peers."""

    results: list[Any]
    time: float
    ledger: list[Ledger]
    timeline: Timeline
    memory: MemoryTrack = field(default_factory=partial(MemoryTrack, []))
    symmetric: bool = False

    @property
    def ranks(self) -> int:
        return len(self.results)

    @property
    def messages_sent(self) -> int:
        """By all ranks together."""
        alike = self.ranks if self.symmetric else 1
        return alike * sum(ledger.messages_sent for ledger in self.ledger)

    @property
    def bytes_sent(self) -> int:
        """By all ranks together."""
        alike = self.ranks if self.symmetric else 1
        return alike * sum(ledger.bytes_sent for ledger in self.ledger)

    def bytes_to(self, rank: int) -> int:
        """The bytes that all other ranks together sent to one rank."""
        if self.symmetric:
            return self.ledger[0].bytes_sent
        return sum(ledger.bytes_to(rank) for ledger in self.ledger)

    def plot(self, **options: Any) -> Figure:
        """The timeline, and under it what the ranks held."""
        from ddl_runtime.pictures.memory import plot_run

        return plot_run(self.timeline, self.memory, **options)

    def __repr__(self) -> str:
        most = max((ledger.bytes_sent for ledger in self.ledger), default=0)
        return f"Run({self.ranks} ranks, {self.time:.6g} s, at most {most} bytes sent per rank)"


Logs = Iterable[tuple[int, list[CollectiveLog]]]  # of each rank
Fetched = list[tuple[int, int]]
Books = tuple[
    list[Entry], list[Entry], list[SpanEntry] | None, Fetched, list[Change], list[CollectiveLog]
]  # fmt: skip
Ending = tuple[float, Books, Any]
# How the life of a rank ended that did not return.
DIED: Ending = 0.0, ([], [], None, [], [], []), None


def concluded(endings: Sequence[Ending | None], survivors: bool = False) -> Run:
    """The run of real ranks, from the ending of each: its seconds, its records, its result. None
    stands for a rank that died.

    A message that was sent and never received is an error, which carries the run, and so are
    collectives that differ; but not with `survivors`, which may have lost the receiver.
    """
    seconds, books, results = zip(*(ending or DIED for ending in endings), strict=True)
    ledgers, received, traces, fetched, held, logs = zip(*books, strict=True)
    # What a rank has read in another's window, the owner's memory has sent: so its ledger has it.
    whole = [list(entries) for entries in ledgers]
    for reader, taken in enumerate(fetched):
        for owner, nbytes in taken:
            whole[owner].append((reader, 0, nbytes, "get"))
    timeline = Timeline([spans or [] for spans in traces])
    own = [Ledger(entries) for entries in whole]
    run = Run(list(results), max(seconds), own, timeline, MemoryTrack(list(held)))
    left = Counter(
        (source, dest, tag, nbytes)
        for source, ledger in enumerate(ledgers)
        for dest, tag, nbytes, kind in ledger
        if kind == "host" or kind in DEVICE_KINDS.values()
    )
    left.subtract(
        (source, dest, tag, nbytes)
        for dest, taken in enumerate(received)
        for source, tag, nbytes, kind in taken
        if kind == "host"
    )
    if not survivors:
        lost = [Lost(*message) for message in sorted((+left).elements())]
        compare_collectives(enumerate(logs), run, lost)
    return run


def compare_collectives(logs: Logs, run: Run | None = None, lost: Sequence[Lost] = ()) -> None:
    """Refuse what ranks have done if they did not call the same collectives, or if messages were
    `lost`."""
    if lost:
        unreceived = deadlock.tell_unreceived(lost, run)
        tell_collectives(unreceived, logs, ended=True)
        raise unreceived
    if text := disagreement(logs, ended=True):
        error = deadlock.CollectiveMismatch(f"All ranks returned, but {text}")
        error.run = run
        raise error


def tell_collectives(error: deadlock.DiagnosedError, logs: Logs, ended: bool = False) -> None:
    """If ranks had called different collectives before an error, add this to its text."""
    if text := disagreement(logs, ended):
        error.args = (f"{error}\n\nBefore that, {text}",)
