"""How long a pass over layers and steps takes, over the number of steps in one message.

Short messages cost their overhead more often, long ones keep the ranks above waiting: between
them lies the best. The line is predicted, hollow squares simulated, dots measured with their
interval. What to look at: where the valley is, and whether all three agree on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.curves import draw
from ddl_class.plots.frame import BESIDE, finish, log_scale, write_numbers
from ddl_runtime.pictures.style import INK, Points, in_style, new_axes, time_text

PREDICTED, MEASURED = "#ee6677", "#4477aa"


@in_style
def plot_chunks(
    predicted: Points,
    simulated: Points,
    measured: Points,
    intervals: tuple[Sequence[float], Sequence[float]] | None = None,
    *,
    alone: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw seconds over steps in a message; each is (chunks, seconds). `intervals` are the lows
    and highs of what was measured, `alone` the seconds of one rank that does everything."""
    ax = new_axes(9.0, 4.2)
    draw(ax, "predicted", predicted, PREDICTED, "predicted")
    draw(ax, "simulated", simulated, INK, "simulated", markersize=9)
    found_by_clock = (*measured, intervals) if intervals else measured
    draw(ax, "measured", found_by_clock, MEASURED, "measured: median\nand interval")
    if alone is not None:
        ax.axhline(alone, color=INK, linestyle=":", label="one rank alone")
    log_scale(ax, "x", base=2, at=measured[0])
    ax.set_ylim(bottom=0)
    write_numbers(ax.yaxis, time_text)
    told, best = (points[0][int(np.argmin(points[1]))] for points in (predicted, measured))
    found = f"Best are {best} steps in a message" + (
        ": so it was predicted and measured" if told == best else f"; {told} were predicted"
    )
    return finish(
        ax,
        "Time of a pass over steps in a message",
        found,
        title,
        x="steps in one message",
        y="time of one pass",
        grid="y",
        legend=BESIDE,
    )
