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

from ddl_class.plots.boxes import write
from ddl_class.plots.frame import finish
from ddl_runtime.pictures.activity import Spans
from ddl_runtime.pictures.style import (
    INK,
    KIND_COLOURS,
    Look,
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
    moving = [span for (_, kind), spans in bars.items() if kind in STAGES for span in spans]
    # A kernel that goes on behind the last copy is cut off: the message is what is looked at.
    spans_shown = moving or [span for spans in bars.values() for span in spans]
    end = max(last for _, last in spans_shown)
    factor, unit = time_unit(end)
    ax = new_axes(9.0, 1.3 + 0.34 * len(bars)) if ax is None else ax
    for row, ((_, kind), spans) in enumerate(bars.items()):
        pieces = [(first * factor, (last - first) * factor) for first, last in spans]
        look: Look = {"color": COLOURS[kind], "edgecolor": "white"}
        ax.broken_barh(pieces, (row - HEIGHT / 2, HEIGHT), **look)
        narrowest = min(width for _, width in pieces)
        if kind in STAGES and 1 < len(spans) <= MOST_NUMBERS and narrowest > LETTER * end * factor:
            for number, (first, width) in enumerate(pieces):
                write(ax, first + width / 2, row, number, color="white", fontsize=10)
    ax.set_yticks(range(len(bars)), [f"rank {r}: {NAMES.get(kind, kind)}" for r, kind in bars])
    ranks = [rank for rank, _ in bars]
    for row in np.flatnonzero(np.diff(ranks)).tolist():
        ax.axhline(row + 0.5, color=INK, linewidth=0.6)
    ax.invert_yaxis()
    ax.set_xlim(0, end * factor * 1.01)
    found = "Nothing is copied and nothing is sent"
    if moving:
        whole, busy = end - min(first for first, _ in moving), busy_at_once(moving)
        together = f"{busy / whole:.0%} of it" if busy else "never"
        found = f"{time_text(whole)} from device to device; several stages at once: {together}"
    who = " and ".join(f"rank {rank}" for rank in dict.fromkeys(ranks))
    about = f"Kernels, copies and messages of {who} over time"
    return finish(ax, about, found, title, x=f"time ({unit})", grid="")


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
    bars = {
        (rank, kind): sorted((span[2], span[3]) for span in timeline.of(rank) if span[1] == kind)
        for rank in range(timeline.ranks)
        for kind in COLOURS
    }
    return {row: spans for row, spans in bars.items() if spans}
