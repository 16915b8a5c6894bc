"""The timeline: what each rank did when, as plain spans.

`kind` says how to read a span: "work" and "span" are the program's own, "reduce" is local
arithmetic. "send" lasts until the data has left, "recv" from asking to having, "barrier" is a
barrier. Messages need no marks of their own: on one channel (same sender, receiver and tag) the
k-th send meets the k-th receive.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Span(NamedTuple):
    """Something one rank did from `start` to `end` (seconds); `peer`, `tag` and `bytes` belong to
    sends and receives."""

    name: str
    kind: str
    start: float
    end: float
    peer: int = -1
    tag: int = -1
    bytes: int = 0


SpanEntry = tuple[str, str, float, float, int, int, int]  # a span before it is read


def plain(entries: Iterable[Any]) -> Iterator[SpanEntry]:
    """Spans; simulated ranks note what a `sendrecv` sent and received as one."""
    for entry in entries:
        if entry[0].__class__ is str:
            yield entry
            continue
        begun, end, start, left, sent, source, tag, nbytes = entry
        if sent is not None:
            yield "send", "send", start, left, *sent[:3]
        yield "recv", "recv", begun, end, source, tag, nbytes


class Arrow(NamedTuple):
    """One message: its first byte left `source` at `start`, its last one at `left`; `dest` had
    received all at `end`."""

    source: int
    dest: int
    start: float
    end: float
    tag: int
    bytes: int
    left: float


class Columns(NamedTuple):
    """Spans as arrays, for sums and pictures over millions of them. `row` is the position of a
    span's rank among the ranks asked for, `kind` the position of its kind in `kinds`."""

    kinds: tuple[str, ...]
    row: np.ndarray
    kind: np.ndarray
    start: np.ndarray
    end: np.ndarray


class Timeline:
    """Spans per rank. `spans[r]` lists those of rank r in the order they ended."""

    def __init__(self, entries: list[list[Any]]) -> None:
        self._noted = entries

    @property
    def ranks(self) -> int:
        return len(self._noted)

    @cached_property
    def _entries(self) -> list[list[SpanEntry]]:
        return [[*plain(entries)] for entries in self._noted]

    @property
    def spans(self) -> list[list[Span]]:
        return [self.of(rank) for rank in range(self.ranks)]

    def of(self, rank: int) -> list[Span]:
        return [Span(*entry) for entry in sorted(self._entries[rank], key=itemgetter(3))]

    def columns(self, ranks: Iterable[int] | None = None) -> Columns:
        """The spans of all ranks, or of some, as arrays and without an object for each."""
        rows = self._entries if ranks is None else [self._entries[rank] for rank in ranks]
        counts = [len(entries) for entries in rows]
        total = sum(counts)
        codes: dict[str, int] = {}
        kind = np.fromiter(
            (codes.setdefault(entry[1], len(codes)) for entry in chain.from_iterable(rows)),
            np.int16,
            total,
        )
        start, end = (
            np.fromiter((entry[place] for entry in chain.from_iterable(rows)), float, total)
            for place in (2, 3)
        )
        return Columns(tuple(codes), np.repeat(np.arange(len(rows)), counts), kind, start, end)

    @property
    def messages(self) -> list[Arrow]:
        """Every message as an arrow from its sender's span to its receiver's."""
        sent: dict[tuple[int, int, int], deque[tuple[float, float]]] = defaultdict(deque)
        for source, entries in enumerate(self._entries):
            for _, kind, start, left, dest, tag, _ in entries:
                if kind == "send":
                    sent[source, dest, tag].append((start, left))
        arrows = []
        for dest, entries in enumerate(self._entries):
            for _, kind, _, end, source, tag, nbytes in entries:
                if kind == "recv" and (known := sent[source, dest, tag]):
                    start, left = known.popleft()
                    # Of real ranks a send may return when its receiver has long gone on.
                    left = min(left, max(start, end))
                    arrows.append(Arrow(source, dest, start, end, tag, nbytes, left))
        return arrows

    def plot(self, **options: Any) -> Figure:
        """The chart: ranks down, time across, messages as arrows when few."""
        from ddl_runtime.pictures.timeline import plot_timeline

        return plot_timeline(self, **options)

    def save_trace(self, path: str | Path) -> Path:
        """Write a trace file that Perfetto (ui.perfetto.dev) and chrome://tracing open."""
        from ddl_runtime.pictures.trace import write_trace

        return write_trace(self, path)

    def save_goal(self, path: str | Path) -> Path:
        """Write a schedule that LogGOPSim and ATLAHS read."""
        from ddl_runtime.interchange.goal import write_goal

        return write_goal(self, path)

    def save_chakra(self, prefix: str | Path) -> list[Path]:
        """Write Chakra execution traces, a file a rank, as ASTRA-sim reads them."""
        from ddl_runtime.interchange.chakra import write_chakra

        return write_chakra(self, prefix)

    def __repr__(self) -> str:
        return f"Timeline({self.ranks} ranks, {sum(map(len, self._entries))} spans)"
