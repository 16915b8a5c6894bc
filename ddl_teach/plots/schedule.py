"""A schedule: who does which operation when. Processors down, time across.

Every operation is a box as wide as it takes; white is a processor that has nothing to do. The
vertical line is the longest chain, which no number of processors shortens. What to look at: where
the white is. At the end of a sum fewer and fewer have work, whatever the scheduler does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ddl_teach.plots.style import INK, describe, in_style, new_axes, rank_colour, time_unit

MOST_PROCESSORS = 64
MOST_NUMBERED = 120  # operations whose number stands in their box
MARGIN = 0.04  # of a step, left and right of a box
LETTER = 6.5  # points that a digit is wide


@in_style
def plot_schedule(
    start: Sequence[float],
    duration: Sequence[float],
    processor: Sequence[int],
    processors: int,
    *,
    kinds: Sequence[str] | None = None,
    depth: float | None = None,
    unit: str = "steps",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw when each operation begins, how long it takes, and who does it.

    `kinds` says what each operation is, which colours it; `depth` is the longest chain. `unit` is
    "steps", or "s" for times in seconds.
    """
    begins, lengths = np.asarray(start, float), np.asarray(duration, float)
    who = np.asarray(processor, int)
    if not len(begins) == len(lengths) == len(who) or not len(who):
        raise ValueError(
            f"{len(begins)} starts, {len(lengths)} durations and {len(who)} processors: give one "
            "of each for every operation, and at least one operation"
        )
    if not max(who) < processors <= MOST_PROCESSORS:
        raise ValueError(
            f"processors={processors}: a row for each of up to {MOST_PROCESSORS} can be drawn, "
            f"and operations stand on processors up to {max(who)}"
        )
    end = float((begins + lengths).max())
    factor, name = (1.0, unit) if unit == "steps" else time_unit(end)
    ax = new_axes(9.0, 1.5 + 0.3 * min(processors, 24)) if ax is None else ax
    kinds = ["operation"] * len(who) if kinds is None else list(kinds)
    colours = {kind: rank_colour(place) for place, kind in enumerate(dict.fromkeys(kinds))}
    _draw_boxes(ax, begins * factor, lengths * factor, who, [colours[kind] for kind in kinds])
    if depth is not None:
        ax.axvline(depth * factor, color=INK, linestyle=":", linewidth=1.2)
        place = {"xytext": (4, 3), "textcoords": "offset points"}
        ax.annotate("longest chain", (depth * factor, -0.5), fontsize=8.5, **place)
    ax.set_xlim(0, 1.02 * end * factor)
    ax.set_ylim(processors - 0.5, -0.9 if depth is not None else -0.5)
    step = -(-processors // 16)
    ax.set_yticks(range(0, processors, step))
    if unit == "steps":
        ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    ax.set_xlabel(f"time ({name})")
    ax.set_ylabel("processor")
    if len(colours) > 1:
        patches = [Patch(facecolor=colour, label=kind) for kind, colour in colours.items()]
        ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.2)
    busy = float(lengths.sum()) / (end * processors)
    found = finding(len(who), processors, end * factor, name, busy)
    ax.set_title(found if title is None else title)
    longest = f" Its longest chain takes {depth * factor:.4g} {name}." if depth is not None else ""
    describe(ax.figure, f"Schedule. {found}.{longest}")
    return ax.figure


def finding(operations: int, processors: int, end: float, unit: str, busy: float) -> str:
    """How long it takes, and how much of the processors' time is used."""
    crew = "one processor" if processors == 1 else f"{processors} processors"
    return f"{operations:,} operations on {crew}: {end:.4g} {unit}, and {1 - busy:.0%} idle"


def _draw_boxes(
    ax: Axes, begins: np.ndarray, lengths: np.ndarray, who: np.ndarray, colours: list
) -> None:
    gap = MARGIN * lengths.min()
    left, right = begins + gap, begins + lengths - gap
    boxes = [
        [(x, row - 0.42), (x, row + 0.42), (y, row + 0.42), (y, row - 0.42)]
        for x, y, row in zip(left, right, who, strict=True)
    ]
    ax.add_collection(PolyCollection(boxes, facecolors=colours, linewidths=0))
    per_unit = 72 * ax.figure.get_size_inches()[0] / (begins + lengths).max()
    for one, (begin, length, row) in enumerate(zip(begins, lengths, who, strict=True)):
        if len(who) <= MOST_NUMBERED and length * per_unit > LETTER * len(str(one)) + 4:
            dark = sum(colours[one]) < 1.6
            look = {"ha": "center", "va": "center", "fontsize": 8}
            ax.text(begin + length / 2, row, str(one), color="white" if dark else "black", **look)
