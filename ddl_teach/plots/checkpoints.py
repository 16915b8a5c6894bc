"""What failures and saves cost, over the seconds between two saves; a curve for each size.

Left of the valley saving itself takes the time, right of it the work that is done again. Dots are
where Young's rule puts the interval. What to look at: the more nodes, the shorter the interval and
the higher the valley; where the best is half lost, more nodes do not help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_teach.plots.style import describe, in_style, new_axes, rank_colour, time_text

Curve = tuple[Sequence[float], Sequence[float]]  # seconds between saves; time over the work's own


@in_style
def plot_checkpoints(
    curves: Mapping[int, Curve],
    young: Mapping[int, float],
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw expected time, as a multiple of the work's own, by nodes; `young` are intervals."""
    ax = new_axes(8.0, 4.2) if ax is None else ax
    for place, (nodes, (every, times)) in enumerate(curves.items()):
        colour = rank_colour(place)
        ax.plot(every, times, color=colour, label=f"{nodes:,} nodes")
        height = float(np.interp(young[nodes], every, times))
        ax.plot([young[nodes]], [height], "o", color=colour)
    ax.set_xscale("log")
    ax.set_ylim(0.95, 2.5)
    ax.set_xlabel("seconds between two checkpoints")
    ax.set_ylabel("time, over that without failures and saves")
    ax.legend(frameon=False, loc="upper center", ncols=len(curves))
    found = finding(curves)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Time over the seconds between two checkpoints. {found}.")
    return ax.figure


def finding(curves: Mapping[int, Curve]) -> str:
    """Where the valleys of the fewest and of the most nodes are."""
    told = []
    for nodes in (min(curves), max(curves)):
        every, times = curves[nodes]
        best = int(np.argmin(times))
        told.append(f"{nodes:,} nodes every {time_text(every[best])} ({times[best]:.2f})")
    return f"Best saved: {', '.join(told)}"
