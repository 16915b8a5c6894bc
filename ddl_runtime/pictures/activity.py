"""What a rank does at each moment, as one thing.

A rank may send, receive and work at once, and its named spans lie around all of that. For a sum
that adds up, each moment goes to one kind: the first of work, reduce, send, recv, barrier, span
that covers it. So messages count only where the rank does nothing else meanwhile: what is hidden
behind work costs no time.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ddl_runtime.pictures.style import KIND_COLOURS, KIND_LABELS
from ddl_runtime.pictures.words import time_text

KINDS = tuple(KIND_COLOURS)
MESSAGES = ("send", "recv", "barrier")


class Spans(Protocol):
    """What a picture must know of a timeline; spans and messages are tuples of plain numbers.

    A span is (name, kind, start, end, peer, tag, bytes), a message (source, dest, start, end, tag,
    bytes, left). Columns have the fields kinds, row, kind, start, end.
    """

    @property
    def ranks(self) -> int: ...
    @property
    def messages(self) -> list[Any]: ...
    def of(self, rank: int) -> list[Any]: ...
    def columns(self, ranks: Iterable[int] | None = None) -> Any: ...


class Activity(NamedTuple):
    """Pieces of time in which one row does one thing; `kind` is a position in `KINDS`."""

    rows: int
    start: float
    end: float
    row: np.ndarray
    kind: np.ndarray
    begins: np.ndarray
    ends: np.ndarray

    def share(self, *kinds: str) -> float:
        """Which part of all rows' time goes to these kinds, between 0 and 1."""
        wanted = np.isin(self.kind, [KINDS.index(kind) for kind in kinds])
        whole = self.rows * (self.end - self.start)
        return float((self.ends - self.begins)[wanted].sum()) / whole if whole else 0.0


def activity(
    timeline: Spans,
    ranks: Iterable[int] | None = None,
    start: float | None = None,
    end: float | None = None,
) -> Activity:
    """What each rank does from `start` to `end`; from 0 to the last span's end unless given."""
    chosen = range(timeline.ranks) if ranks is None else list(ranks)
    columns = timeline.columns(chosen)
    start = 0.0 if start is None else start
    end = float(columns.end.max(initial=start)) if end is None else end
    order = [KINDS.index(kind if kind in KINDS else "span") for kind in columns.kinds]
    kind = np.array(order, np.int8)[columns.kind]
    begins, ends = np.clip(columns.start, start, end), np.clip(columns.end, start, end)
    kept = begins < ends
    pieces = _flatten(columns.row[kept], kind[kept], begins[kept], ends[kept])
    return Activity(len(chosen), start, end, *pieces)


def _flatten(
    row: np.ndarray, kind: np.ndarray, begins: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pieces that do not overlap, by a sweep over the begins and ends of each row's spans."""
    moments = np.concatenate([begins, ends])
    order = np.lexsort((moments, np.tile(row, 2)))
    moments, rows, kinds = moments[order], np.tile(row, 2)[order], np.tile(kind, 2)[order]
    change = np.where(order < len(begins), 1, -1)
    doing = np.full(len(order), -1, np.int8)
    for code in reversed(range(len(KINDS))):
        # All spans of a row end within it, so the running count is 0 again when the next begins.
        doing[np.cumsum(np.where(kinds == code, change, 0)) > 0] = code
    until = np.roll(moments, -1)
    kept = (doing >= 0) & (until > moments) & (np.roll(rows, -1) == rows)
    return rows[kept], doing[kept], moments[kept], until[kept]


def finding(doings: Activity) -> str:
    """What a timeline shows, in one line: how long it took, and how much of it not in work."""
    who = "1 rank takes" if doings.rows == 1 else f"{doings.rows:,} ranks take"
    share = doings.share(*MESSAGES)
    part = "none" if share == 0 else "all" if share > 0.9995 else _percent(share)
    return f"{who} {time_text(doings.end - doings.start)}, {part} of it in messages"


def in_words(doings: Activity) -> str:
    """A timeline for those who cannot see it: the shares of what its ranks do."""
    shares = {kind: doings.share(kind) for kind in KINDS}
    parts = [f"{_percent(part)} {KIND_LABELS[k]}" for k, part in shares.items() if part > 0]
    idle = max(0.0, 1.0 - sum(shares.values()))
    if idle > 0.0005:
        parts.append(f"{_percent(idle)} nothing of these")
    return (
        f"Timeline of {doings.rows:,} ranks, one below the other, from {time_text(doings.start)} "
        f"to {time_text(doings.end)}. Of their time: {', '.join(parts) or 'nothing recorded'}."
    )


def _percent(share: float) -> str:
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"
