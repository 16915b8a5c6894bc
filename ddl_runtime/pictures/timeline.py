"""What each rank did when: ranks down, time across.

Up to 32 ranks are drawn as bars, messages as arrows if there are few. Work fills a whole bar; a
send is a stripe along its upper edge and a receive one along the lower. So both halves of a
sendrecv show, and between them the work that goes on meanwhile. Named spans are thin lines above
the bar with their names, an inner one below the one around it. More ranks become an image: a pixel
covers some ranks and a moment and mixes the colours of what they do there; white is nothing of all
this. The title says how long it took, and which share of the ranks' time went into sending and
receiving, waits included.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import ScaledTranslation

from ddl_runtime.pictures.activity import KINDS, Activity, Spans, activity, finding, in_words
from ddl_runtime.pictures.style import (
    INK,
    KIND_COLOURS,
    KIND_LABELS,
    Look,
    describe,
    figure_of,
    in_style,
    ink_on,
    new_axes,
    rank_colour,
)
from ddl_runtime.pictures.words import time_unit

MOST_BARS = 20_000
MOST_RANKS_AS_BARS = 32
MOST_ARROWS = 200
BELOW_AXIS = -33  # points from the axis to the legend, past the numbers and the label
PIXELS = (400, 1200)  # of the image: rows of ranks, columns of time
BAR, LANE = 0.27, 0.15  # inches: the height of a bar, and of a line with a name above it
STRIPE = 0.37  # of a bar: a send or a receive
GAP = 0.11  # inches between rows
LETTERS, POINTS_PER_LETTER = 9, 5.0  # the size of names, and the width of one of their letters
LAYERS = ("span", "barrier", "work", "reduce", "recv", "send")  # large areas first


@in_style
def plot_timeline(
    timeline: Spans, *, ranks: Iterable[int] | None = None, start: float | None = None,
    end: float | None = None, title: str | None = None, arrows: bool | None = None,
    ax: Axes | None = None,
) -> Figure:  # fmt: skip
    """Draw a timeline, or its part for some `ranks` and from `start` to `end` seconds.

    `arrows` draws the messages between the shown ranks, or does not; unless given, those of up to
    200 messages are drawn. `ax` draws into axes that exist already.
    """
    shown = range(timeline.ranks) if ranks is None else list(ranks)
    unknown = [rank for rank in shown if not 0 <= rank < timeline.ranks]
    if unknown or not len(shown):
        what = f"rank {unknown[0]} is not on this timeline" if unknown else "no rank was named"
        raise ValueError(f"{what}: it has ranks 0 to {timeline.ranks - 1}")
    doings = activity(timeline, shown, start, end)
    start, end = doings.start, doings.end
    factor, unit = time_unit(end)
    as_bars = len(shown) <= MOST_RANKS_AS_BARS and len(doings.row) <= MOST_BARS
    shape = None
    if as_bars:  # all rows need room for the names of nested spans
        lanes = max(1 + max(_lanes(_named(timeline.of(rank))), default=-1) for rank in shown)
        inches = GAP + BAR + lanes * LANE
        shape = RowLayout(BAR / inches / 2, LANE / inches, lanes, inches)
    if ax is None:
        ax = new_axes(height=min(1.4 + shape.inches * len(shown), 9.0) if shape else 6.0)
    if shape:
        kinds = _draw_bars(ax, timeline, shown, shape, doings)
    else:
        kinds = _draw_image(ax, doings, factor)
    if arrows or (arrows is None and len(doings.row) <= 4 * MOST_ARROWS):
        among = set(shown)
        messages = (m for m in timeline.messages if m[0] in among and m[1] in among)
        visible = [m for m in messages if m[3] >= start and m[2] <= end]
        if arrows or len(visible) <= MOST_ARROWS:
            _draw_arrows(ax, visible, shown, shape, factor)
    room_for_arrowheads = 0.008 * (end - start) if as_bars else 0.0
    ax.set_xlim(start * factor, (end + room_for_arrowheads) * factor if end > start else 1.0)
    ax.set_xlabel(f"time ({unit})")
    _name_ranks(ax, shown)
    coloured = [kind for kind in KINDS if kind in kinds]
    patches = [Patch(facecolor=KIND_COLOURS[kind], label=KIND_LABELS[kind]) for kind in coloured]
    if patches:
        below = ScaledTranslation(0.0, BELOW_AXIS / 72, ax.figure.dpi_scale_trans)
        place: Look = {"bbox_to_anchor": (0.0, 0.0), "bbox_transform": ax.transAxes + below}
        gaps: Look = {"handlelength": 1.2, "columnspacing": 1.2, "borderaxespad": 0.0}
        ax.legend(handles=patches, ncols=len(patches), loc="upper left", **place, **gaps)
    ax.set_title(finding(doings) if title is None else title)
    figure = figure_of(ax)
    describe(figure, in_words(doings))
    return figure


def _draw_image(ax: Axes, doings: Activity, factor: float) -> set[str]:
    """Draw a pixel for some ranks and a moment each; returns the kinds that occur."""
    if not len(doings.row):
        ax.set_ylim(doings.rows - 0.5, -0.5)
        return set()
    height, width = min(doings.rows, PIXELS[0]), PIXELS[1]
    bounds = np.arange(height + 1) * doings.rows // height
    ranks_of_pixel = np.diff(bounds)[:, None]
    pixel = np.searchsorted(bounds, doings.row, side="right") - 1
    scale = width / (doings.end - doings.start)
    image = np.ones((height, width, 3))
    present = set()
    for code, kind in enumerate(KINDS):
        chosen = doings.kind == code
        if not chosen.any():
            continue
        present.add(kind)
        begins, ends = ((t[chosen] - doings.start) * scale for t in (doings.begins, doings.ends))
        share = _covered(pixel[chosen], begins, ends, height, width) / ranks_of_pixel
        image -= share[:, :, None] * (1.0 - np.array(to_rgb(KIND_COLOURS[kind])))
    extent = doings.start * factor, doings.end * factor, doings.rows - 0.5, -0.5
    ax.imshow(image.clip(0.0, 1.0), aspect="auto", interpolation="nearest", extent=extent)
    return present


def _covered(
    row: np.ndarray, begins: np.ndarray, ends: np.ndarray, height: int, width: int
) -> np.ndarray:
    """How many pieces cover each pixel, parts of pixels counted as such: a piece that begins in
    the middle of a column adds half there and one to all after it. At its end it takes this away
    again.
    """
    change = np.zeros(height * (width + 2))
    for times, sign in ((begins, 1.0), (ends, -1.0)):
        column = np.minimum(times.astype(np.int64), width)
        part = times - column
        flat = row * (width + 2) + column
        change += sign * np.bincount(flat, 1.0 - part, len(change))
        change += sign * np.bincount(flat + 1, part, len(change))
    return change.reshape(height, width + 2).cumsum(axis=1)[:, :width]


def _name_ranks(ax: Axes, shown: Sequence[int]) -> None:
    """Number the rows; if they are few, each number has its rank's colour."""
    ax.set_ylabel("rank")
    if len(shown) <= MOST_RANKS_AS_BARS:
        ax.set_yticks(range(len(shown)), [str(rank) for rank in shown])
        ax.tick_params(axis="y", length=0, labelsize="medium" if len(shown) < 20 else 8)
        for label, rank in zip(ax.get_yticklabels(), shown, strict=True):
            label.set_bbox({"boxstyle": "square,pad=0.25", "fc": rank_colour(rank), "lw": 0})
            label.set_color(ink_on(rank_colour(rank)))
    else:
        ax.yaxis.set_major_locator(MaxNLocator(8, integer=True))
        ax.yaxis.set_major_formatter(
            FuncFormatter(lambda row, _: f"{shown[int(row)]:,}" if 0 <= row < len(shown) else "")
        )


# A few ranks as bars: what overlaps stays visible.


class RowLayout(NamedTuple):
    """Where things lie in a row, as parts of its height; its number is the middle of the bar."""

    half: float
    lane: float
    lanes: int
    inches: float

    def extent(self, kind: str) -> tuple[float, float]:
        """The ends of a bar of this kind within its row; downwards is positive."""
        stripe = 2 * STRIPE * self.half
        top = self.half - stripe if kind == "recv" else -self.half
        bottom = stripe - self.half if kind == "send" else self.half
        return top, bottom


def _draw_bars(
    axes: Axes, timeline: Spans, ranks: Sequence[int], shape: RowLayout, doings: Activity
) -> set[str]:
    """Draw the spans of these ranks in the time of `doings`; returns the kinds that were drawn."""
    start, end, (factor, _) = doings.start, doings.end, time_unit(doings.end)
    boxes: dict[str, list[list[tuple[float, float]]]] = {kind: [] for kind in LAYERS}
    for row, rank in enumerate(ranks):
        spans = [span for span in timeline.of(rank) if span[2] <= end and span[3] >= start]
        for span in spans:
            kind = _kind(span)
            top, bottom = (row + part for part in shape.extent(kind))
            left, right = span[2] * factor, span[3] * factor
            boxes[kind].append([(left, top), (right, top), (right, bottom), (left, bottom)])
        _draw_names(axes, _named(spans), row, shape, doings)
    for layer, kind in enumerate(LAYERS):
        look: Look = {"facecolor": KIND_COLOURS[kind], "edgecolor": "white", "linewidth": 0.4}
        bars = PolyCollection(boxes[kind], zorder=2 + 0.1 * layer, **look)
        axes.add_collection(bars, autolim=False)
    space = GAP / shape.inches
    highest = -shape.half - shape.lanes * shape.lane
    axes.set_ylim(len(ranks) - 1 + shape.half + space, highest - space)
    return {kind for kind, drawn in boxes.items() if drawn}


def _draw_arrows(
    axes: Axes, messages: list[Any], ranks: Sequence[int], shape: RowLayout | None, factor: float
) -> None:
    """Draw messages from when they had left to when they were received: an arrow is as long as the
    way. In rows of a `shape` they join the stripe of the send to the stripe of the receive."""
    if not messages:
        return
    rows = {rank: row for row, rank in enumerate(ranks)}
    aside = shape.half * (1 - STRIPE) if shape else 0.0
    ends = np.array(
        [
            (left * factor, rows[source] - aside, ended * factor, rows[dest] + aside)
            for source, dest, _, ended, _, _, left in messages
        ]
    )
    head: Look = {"headwidth": 7, "headlength": 9, "headaxislength": 8, "width": 0.011}
    head |= {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "inches"}
    starts, ways = ends[:, :2].T, (ends[:, 2:] - ends[:, :2]).T
    axes.quiver(*starts, *ways, color=INK, alpha=0.8, zorder=5, **head)


def _kind(span: Any) -> str:
    return span[1] if span[1] in KINDS else "span"


def _named(spans: Sequence[Any]) -> list[Any]:
    """The spans whose names say more than their kind, each before those inside it."""
    # Of two that begin and end together the one noted later, when it ended, is the outer.
    last_first = reversed(spans)
    named = [s for s in last_first if _kind(s) == "span" or (s[1] == "work" and s[0] != "work")]
    return sorted(named, key=lambda span: (span[2], -span[3]))


def _lanes(named: Sequence[Any]) -> list[int]:
    """The line of text for each span: the uppermost line that is free when the span begins."""
    free_from: list[float] = []
    lanes = []
    for span in named:
        lane = next((i for i, time in enumerate(free_from) if time <= span[2]), len(free_from))
        free_from[lane : lane + 1] = [span[3]]
        lanes.append(lane)
    return lanes


def _draw_names(
    axes: Axes, named: list[Any], row: int, shape: RowLayout, doings: Activity
) -> None:
    """A line for each named span of one row, and its name if it fits."""
    start, end, (factor, _) = doings.start, doings.end, time_unit(doings.end)
    points = figure_of(axes).get_figwidth() * 72 * 0.85
    lines = []
    for lane, (name, _, begun, ended, *_) in zip(_lanes(named), named, strict=True):
        height = row - shape.half - shape.lane * (shape.lanes - lane - 0.7)
        begun, ended = max(begun, start), min(ended, end)
        lines.append([(begun * factor, height), (ended * factor, height)])
        letters = int((ended - begun) / ((end - start) or 1.0) * points / POINTS_PER_LETTER)
        if letters >= min(len(name), 6):
            text = name if len(name) <= letters else name[: letters - 1] + "…"
            look: Look = {"fontsize": LETTERS, "color": INK, "va": "bottom", "zorder": 6}
            axes.text(begun * factor, height, text, **look)
    axes.add_collection(LineCollection(lines, colors=INK, linewidths=1.0, zorder=3), autolim=False)
