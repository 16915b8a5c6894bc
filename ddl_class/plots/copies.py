"""Who has the bytes when: a row for each thing that a rank and its device do.

Kernel, copy out, send; receive, copy in: one below the other as a message passes them, and the
chunks of one message numbered. What to look at: rows that are busy at the same time. Where they
take turns two of three stages stand idle; in chunks all three work at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_teach.plots.activity import Spans
from ddl_teach.plots.style import (
    INK,
    KIND_COLOURS,
    describe,
    in_style,
    new_axes,
    time_text,
    time_unit,
)

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "kernel": KIND_COLOURS["work"],
        "copy out": "#cc79a7",
        "send": KIND_COLOURS["send"],
        "recv": KIND_COLOURS["recv"],
        "copy in": "#882255",
    }
)
NAMES = MappingProxyType({"send": "on the wire", "recv": "wait, receive"})
STAGES = ("copy out", "send", "copy in")
MOST_NUMBERS = 12  # chunks that are numbered
LETTER = 0.02  # of the picture: a bar must be as wide to carry a number
HEIGHT = 0.62


@in_style
def plot_copies(timeline: Spans, *, title: str | None = None, ax: Axes | None = None) -> Figure:
    """Draw a run on few ranks: kernels, copies and messages, until the last of these has come."""
    bars = _bars(timeline)
    if not bars:
        raise ValueError("no kernel, copy or message is on this timeline: was trace=False?")
    # A kernel that goes on behind the last copy is cut off: the message is what is looked at.
    ends = {kind: max(last for _, last in spans) for (_, kind), spans in bars.items()}
    end = max((ends[kind] for kind in STAGES if kind in ends), default=max(ends.values()))
    factor, unit = time_unit(end)
    ax = new_axes(9.0, 1.3 + 0.34 * len(bars)) if ax is None else ax
    for row, ((_, kind), spans) in enumerate(bars.items()):
        pieces = [(first * factor, (last - first) * factor) for first, last in spans]
        bottom = row - HEIGHT / 2
        ax.broken_barh(pieces, (bottom, HEIGHT), color=COLOURS[kind], edgecolor="white")
        narrowest = min(width for _, width in pieces)
        if kind in STAGES and 1 < len(spans) <= MOST_NUMBERS and narrowest > LETTER * end * factor:
            for number, (first, width) in enumerate(pieces):
                where = first + width / 2, row
                ax.annotate(str(number), where, ha="center", va="center", color="white")
    ax.set_yticks(range(len(bars)), [f"rank {r}: {NAMES.get(kind, kind)}" for r, kind in bars])
    ranks = [rank for rank, _ in bars]
    for row in np.flatnonzero(np.diff(ranks)):
        ax.axhline(row + 0.5, color=INK, linewidth=0.6)
    ax.invert_yaxis()
    ax.set_xlim(0, end * factor * 1.01)
    ax.set_xlabel(f"time ({unit})")
    found = finding(timeline)
    ax.set_title(found if title is None else title)
    who = " and ".join(f"rank {rank}" for rank in dict.fromkeys(ranks))
    described = f"Kernels, copies and messages of {who} over time. {found}."
    describe(ax.figure, described)
    return ax.figure


def finding(timeline: Spans) -> str:
    """How long all of it took, and for which share of the transfer several stages worked."""
    moving = [
        span for (_, kind), spans in _bars(timeline).items() if kind in STAGES for span in spans
    ]
    if not moving:
        return "Nothing is copied and nothing is sent"
    first, last = min(span[0] for span in moving), max(span[1] for span in moving)
    busy = busy_at_once(moving)
    together = f"{busy / (last - first):.0%} of it" if busy else "never"
    return f"{time_text(last - first)} from device to device; several stages at once: {together}"


def busy_at_once(spans: Sequence[tuple[float, float]]) -> float:
    """Seconds in which at least two of these spans lie over each other."""
    edges = sorted([(first, 1) for first, _ in spans] + [(last, -1) for _, last in spans])
    total, active, before = 0.0, 0, edges[0][0]
    for moment, change in edges:
        total += (moment - before) * (active > 1)
        active, before = active + change, moment
    return total


def _bars(timeline: Spans) -> dict[tuple[int, str], list[tuple[float, float]]]:
    """The spans of each rank and kind, in the order in which a message passes them."""
    bars = {}
    for rank in range(timeline.ranks):
        spans = timeline.of(rank)
        for kind in COLOURS:
            own = sorted((span[2], span[3]) for span in spans if span[1] == kind)
            if own:
                bars[rank, kind] = own
    return bars
