"""A few ranks as bars: what overlaps stays visible.

Each rank has a row. Work fills the whole bar; a send is a stripe along its upper edge and a
receive one along the lower, so that both halves of a sendrecv show, and between them the work that
goes on meanwhile. Named spans are thin lines above the bar with their names, an inner one below
the one around it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

from ddl_runtime.pictures.activity import KINDS, Spans
from ddl_runtime.pictures.style import INK, KIND_COLOURS, figure_of

BAR, LANE = 0.27, 0.12  # inches: the height of a bar, and of a line with a name above it
STRIPE = 0.37  # of a bar: a send or a receive
GAP = 0.11  # inches between rows
POINTS_PER_LETTER = 3.9  # of the small letters in use
LAYERS = ("span", "barrier", "work", "reduce", "recv", "send")  # large areas first


class RowLayout(NamedTuple):
    """Where things lie in a row, as parts of its height; its number is the middle of the bar."""

    half: float
    lane: float
    lanes: int
    inches: float

    def extent(self, kind: str) -> tuple[float, float]:
        """From where to where a bar of this kind reaches; downwards is positive."""
        stripe = 2 * STRIPE * self.half
        top = self.half - stripe if kind == "recv" else -self.half
        bottom = stripe - self.half if kind == "send" else self.half
        return top, bottom


def lay_out(timeline: Spans, ranks: Sequence[int]) -> RowLayout:
    """The shape that all rows need so that the names of nested spans find room."""
    lanes = max(1 + max(_lanes(_named(timeline.of(rank))), default=-1) for rank in ranks)
    inches = GAP + BAR + lanes * LANE
    return RowLayout(BAR / inches / 2, LANE / inches, lanes, inches)


def draw_bars(
    axes: Axes,
    timeline: Spans,
    ranks: Sequence[int],
    shape: RowLayout,
    window: tuple[float, float],
    factor: float,
) -> set[str]:
    """Draw the spans of these ranks inside `window`; returns the kinds that were drawn.

    `factor` turns seconds into the unit of the time axis.
    """
    start, end = window
    boxes: dict[str, list[list[tuple[float, float]]]] = {kind: [] for kind in LAYERS}
    for row, rank in enumerate(ranks):
        spans = [span for span in timeline.of(rank) if span[2] <= end and span[3] >= start]
        for span in spans:
            kind = _kind(span)
            top, bottom = (row + part for part in shape.extent(kind))
            left, right = span[2] * factor, span[3] * factor
            boxes[kind].append([(left, top), (right, top), (right, bottom), (left, bottom)])
        _draw_names(axes, _named(spans), row, shape, window, factor)
    for layer, kind in enumerate(LAYERS):
        bars = PolyCollection(
            boxes[kind], facecolor=KIND_COLOURS[kind], edgecolor="white", linewidth=0.4
        )
        bars.set_zorder(2 + 0.1 * layer)
        axes.add_collection(bars, autolim=False)
    space = GAP / shape.inches
    highest = -shape.half - shape.lanes * shape.lane
    axes.set_ylim(len(ranks) - 1 + shape.half + space, highest - space)
    return {kind for kind, drawn in boxes.items() if drawn}


def draw_arrows(
    axes: Axes,
    messages: Sequence[Any],
    ranks: Sequence[int],
    shape: RowLayout | None,
    factor: float,
) -> None:
    """Draw messages from where they left to where they were received.

    In rows of a `shape` they join the stripe of the send to the stripe of the receive.
    """
    if not messages:
        return
    rows = {rank: row for row, rank in enumerate(ranks)}
    aside = shape.half * (1 - STRIPE) if shape else 0.0
    ends = np.array(
        [
            (begun * factor, rows[source] - aside, ended * factor, rows[dest] + aside)
            for source, dest, begun, ended, *_ in messages
        ]
    )
    axes.quiver(
        *ends[:, :2].T,
        *(ends[:, 2:] - ends[:, :2]).T,
        angles="xy",
        scale_units="xy",
        scale=1,
        units="inches",
        width=0.011,
        headwidth=7,
        headlength=9,
        headaxislength=8,
        color=INK,
        alpha=0.8,
        zorder=5,
    )


def _kind(span: Any) -> str:
    return span[1] if span[1] in KINDS else "span"


def _named(spans: Sequence[Any]) -> list[Any]:
    """The spans whose names say more than their kind, each before those inside it."""
    # Of two that begin and end together the one noted later, when it ended, is the outer.
    last_first = reversed(spans)
    named = [s for s in last_first if _kind(s) == "span" or (s[1] == "work" and s[0] != "work")]
    return sorted(named, key=lambda span: (span[2], -span[3]))


def _lanes(named: Sequence[Any]) -> list[int]:
    """The line that each span takes: the uppermost that is free when it begins."""
    free_from: list[float] = []
    lanes = []
    for span in named:
        lane = next((i for i, time in enumerate(free_from) if time <= span[2]), len(free_from))
        free_from[lane : lane + 1] = [span[3]]
        lanes.append(lane)
    return lanes


def _draw_names(
    axes: Axes,
    named: list[Any],
    row: int,
    shape: RowLayout,
    window: tuple[float, float],
    factor: float,
) -> None:
    """A line for each named span of one row, and its name if it fits."""
    start, end = window
    points = figure_of(axes).get_figwidth() * 72 * 0.85
    lines = []
    for lane, (name, _, begun, ended, *_) in zip(_lanes(named), named, strict=True):
        height = row - shape.half - shape.lane * (shape.lanes - lane - 0.7)
        begun, ended = max(begun, start), min(ended, end)
        lines.append([(begun * factor, height), (ended * factor, height)])
        letters = int((ended - begun) / ((end - start) or 1.0) * points / POINTS_PER_LETTER)
        if letters >= min(len(name), 6):
            text = name if len(name) <= letters else name[: letters - 1] + "…"
            axes.text(begun * factor, height, text, fontsize=7, color=INK, va="bottom", zorder=6)
    axes.add_collection(LineCollection(lines, colors=INK, linewidths=1.0, zorder=3), autolim=False)
