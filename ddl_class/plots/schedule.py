"""A schedule: who does which operation when. Processors down, time across.

Every operation is a box as wide as it takes; white is a processor that has nothing to do. The
vertical line is the longest chain, which no number of processors shortens. What to look at: where
the white is. At the end of a sum fewer and fewer have work, whatever the scheduler does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ddl_class.plots.boxes import draw_boxes, write_into_boxes
from ddl_class.plots.frame import BESIDE, explain_colours, finish, note
from ddl_runtime.pictures.style import INK, Look, in_style, new_axes, rank_colour, time_unit

MOST_PROCESSORS = 64
MOST_NUMBERED = 120  # operations whose number stands in their box
MARGIN = 0.04  # of a step, left and right of a box


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
    rows = np.asarray(processor, int)
    if not len(begins) == len(lengths) == len(rows) or not len(rows):
        raise ValueError(
            f"{len(begins)} starts, {len(lengths)} durations and {len(rows)} processors: give one "
            "of each for every operation, and at least one operation"
        )
    if not max(rows) < processors <= MOST_PROCESSORS:
        raise ValueError(
            f"processors={processors}: a row for each of up to {MOST_PROCESSORS} can be drawn, "
            f"and operations stand on processors up to {max(rows)}"
        )
    end = float((begins + lengths).max())
    factor, name = (1.0, unit) if unit == "steps" else time_unit(end)
    begins, lengths, end = begins * factor, lengths * factor, end * factor
    ax = new_axes(9.0, 1.5 + 0.3 * min(processors, 24)) if ax is None else ax
    kinds = ["operation"] * len(rows) if kinds is None else list(kinds)
    colours = {kind: rank_colour(place) for place, kind in enumerate(dict.fromkeys(kinds))}
    fill, gap = [colours[kind] for kind in kinds], MARGIN * lengths.min()
    left, right = begins + gap, begins + lengths - gap
    draw_boxes(ax, rows, left, right, facecolors=fill, linewidths=0)
    if len(rows) <= MOST_NUMBERED:
        write_into_boxes(ax, rows, left, right, range(len(rows)), fill, end)
    longest = ""
    if depth is not None:
        ax.axvline(depth * factor, color=INK, linestyle=":", linewidth=1.2)
        note(ax, "longest chain", (depth * factor, -0.5), (4, 3), fontsize=8.5)
        longest = f"Its longest chain takes {depth * factor:.4g} {name}."
    ax.set_xlim(0, 1.02 * end)
    ax.set_ylim(processors - 0.5, -0.9 if depth is not None else -0.5)
    ax.set_yticks(range(0, processors, -(-processors // 16)))
    if unit == "steps":
        ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    if len(colours) > 1:
        explain_colours(ax, colours, **BESIDE, handlelength=1.2)
    crew = "one processor" if processors == 1 else f"{processors} processors"
    idle = 1 - float(lengths.sum()) / (end * processors)
    found = f"{len(rows):,} operations on {crew}: {end:.4g} {name}, and {idle:.0%} idle"
    names: Look = {"x": f"time ({name})", "y": "processor"}
    return finish(ax, "Schedule", found, title, **names, grid="", more=longest)
