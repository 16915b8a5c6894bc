"""What each rank did when: ranks down, time across.

Up to 32 ranks are drawn as bars, messages as arrows if there are few. More ranks become an image:
a pixel covers some ranks and a moment and mixes the colours of what they do there; white is
nothing of all this. The title says how long it took, and which share of the ranks' time went into
sending and receiving, waits included.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import ScaledTranslation

from ddl_runtime.pictures.activity import KINDS, Activity, Spans, activity, finding, in_words
from ddl_runtime.pictures.bars import draw_arrows, draw_bars, lay_out
from ddl_runtime.pictures.style import (
    KIND_COLOURS,
    KIND_LABELS,
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


@in_style
def plot_timeline(
    timeline: Spans,
    *,
    ranks: Iterable[int] | None = None,
    start: float | None = None,
    end: float | None = None,
    title: str | None = None,
    arrows: bool | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a timeline, or its part for some `ranks` and from `start` to `end` seconds.

    `arrows` draws the messages between the shown ranks, or does not; unless told, those of up to
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
    shape = lay_out(timeline, shown) if as_bars else None
    if ax is None:
        ax = new_axes(height=min(1.4 + shape.inches * len(shown), 9.0) if shape else 6.0)
    if shape:
        kinds = draw_bars(ax, timeline, shown, shape, (start, end), factor)
    else:
        kinds = _draw_image(ax, doings, factor)
    if arrows or (arrows is None and len(doings.row) <= 4 * MOST_ARROWS):
        among = set(shown)
        visible = [
            message
            for message in timeline.messages
            if message[0] in among and message[1] in among
            if message[3] >= start and message[2] <= end
        ]
        if arrows or len(visible) <= MOST_ARROWS:
            draw_arrows(ax, visible, shown, shape, factor)
    room_for_arrowheads = 0.008 * (end - start) if as_bars else 0.0
    ax.set_xlim(start * factor, (end + room_for_arrowheads) * factor if end > start else 1.0)
    ax.set_xlabel(f"time ({unit})")
    _name_ranks(ax, shown)
    _explain_colours(ax, kinds)
    ax.set_title(finding(doings) if title is None else title)
    figure = figure_of(ax)
    describe(figure, in_words(doings))
    return figure


def _draw_image(ax: Axes, doings: Activity, factor: float) -> set[str]:
    """One pixel for some ranks and a moment; returns the kinds that occur."""
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
    ax.imshow(
        image.clip(0.0, 1.0),
        aspect="auto",
        interpolation="nearest",
        extent=(doings.start * factor, doings.end * factor, doings.rows - 0.5, -0.5),
    )
    return present


def _covered(
    row: np.ndarray, begins: np.ndarray, ends: np.ndarray, height: int, width: int
) -> np.ndarray:
    """How many pieces cover each pixel, parts of pixels counted as such.

    A piece that begins in the middle of a column adds half there and one to all columns after it;
    where it ends the same is taken away: two differences each, then one running sum.
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
    """Number the rows; a few ranks wear their colours."""
    ax.set_ylabel("rank")
    if len(shown) <= MOST_RANKS_AS_BARS:
        ax.set_yticks(range(len(shown)), [str(rank) for rank in shown])
        ax.tick_params(axis="y", length=0, labelsize="medium" if len(shown) < 20 else 7)
        for label, rank in zip(ax.get_yticklabels(), shown, strict=True):
            label.set_bbox({"boxstyle": "square,pad=0.25", "fc": rank_colour(rank), "lw": 0})
            label.set_color(ink_on(rank_colour(rank)))
    else:
        ax.yaxis.set_major_locator(MaxNLocator(8, integer=True))
        names = FuncFormatter(
            lambda row, _: f"{shown[int(row)]:,}" if 0 <= row < len(shown) else ""
        )
        ax.yaxis.set_major_formatter(names)


def _explain_colours(ax: Axes, kinds: set[str]) -> None:
    patches = [
        Patch(facecolor=KIND_COLOURS[kind], label=KIND_LABELS[kind])
        for kind in KINDS
        if kind in kinds
    ]
    if patches:
        below = ScaledTranslation(0.0, BELOW_AXIS / 72, ax.figure.dpi_scale_trans)
        ax.legend(
            handles=patches,
            ncols=len(patches),
            loc="upper left",
            bbox_to_anchor=(0.0, 0.0),
            bbox_transform=ax.transAxes + below,
            handlelength=1.2,
            columnspacing=1.2,
            borderaxespad=0.0,
        )
