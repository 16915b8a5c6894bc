"""What failures and saves cost, over the seconds between two saves; a curve for each size.

Left of the valley saving itself takes the time, right of it the work that is done again. Dots are
where Young's rule puts the interval. What to look at: the more nodes, the shorter the interval and
the higher the valley; where the best is half lost, more nodes do not help.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.frame import finish
from ddl_runtime.pictures.style import Points, in_style, new_axes, rank_colour, time_text


@in_style
def plot_checkpoints(
    curves: Mapping[int, Points],
    young: Mapping[int, float],
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw expected time over the seconds between saves, as a multiple of the work's own, by
    nodes; `young` are intervals."""
    ax = new_axes(8.0, 4.2) if ax is None else ax
    for place, (nodes, (every, times)) in enumerate(curves.items()):
        colour = rank_colour(place)
        ax.plot(every, times, color=colour, label=f"{nodes:,} nodes")
        ax.plot(young[nodes], np.interp(young[nodes], every, times), "o", color=colour)
    ax.set_xscale("log")
    ax.set_ylim(0.95, 2.5)
    valleys = []
    for nodes in (min(curves), max(curves)):
        every, times = curves[nodes]
        best = int(np.argmin(times))
        valleys.append(f"{nodes:,} nodes every {time_text(every[best])} ({times[best]:.2f})")
    return finish(
        ax,
        "Time over the seconds between two checkpoints",
        f"Best saved: {', '.join(valleys)}",
        title,
        x="seconds between two checkpoints",
        y="time, over that without failures and saves",
        grid="",
        legend={"loc": "upper center", "ncols": len(curves)},
    )
