"""In which order ranks came, again and again: turns across, the first to come on top.

Each small box is a rank, in its colour. Were ranks to come in the order of their numbers there
would be stripes. What to look at: there are none, and no two runs look alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter, FixedLocator

from ddl_teach.plots.style import describe, in_style, new_axes, rank_colour


@in_style
def plot_arrivals(times: Sequence[Sequence[float]], *, title: str | None = None) -> Figure:
    """Draw the order of the ranks in each turn; `times[rank][turn]` is when it came."""
    came = np.asarray(times, float)
    if came.ndim != 2 or not came.size:
        raise ValueError(
            f"times have a row for each rank and a column for each turn, not shape {came.shape}"
        )
    ranks, turns = came.shape
    order = np.argsort(came, axis=0, kind="stable")
    ax = new_axes(9.0, 1.3 + 0.28 * ranks)
    colours = ListedColormap([rank_colour(rank) for rank in range(ranks)])
    edges = np.arange(turns + 1) + 0.5, np.arange(ranks + 1) - 0.5
    limits = {"vmin": -0.5, "vmax": ranks - 0.5}
    ax.pcolormesh(*edges, order, cmap=colours, edgecolor="white", linewidth=0.6, **limits)
    ax.invert_yaxis()
    ax.yaxis.set_major_locator(FixedLocator([0, ranks - 1]))
    ax.yaxis.set_major_formatter(FixedFormatter(["first", "last"]))
    ax.set_xlabel("turn")
    patches = [Patch(color=rank_colour(rank), label=f"rank {rank}") for rank in range(ranks)]
    ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.01, 1.03), borderaxespad=0.0)
    found = finding(order)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"The order in which ranks came, turn by turn. {found}.")
    return ax.figure


def finding(order: np.ndarray) -> str:
    """How many orders there were; a column of `order` has the ranks of a turn, first to last."""
    ranks, turns = order.shape
    different = len(np.unique(order, axis=1).T)
    sorted_turns = int((order == np.arange(ranks)[:, None]).all(axis=0).sum())
    return (
        f"{turns} turns, {different} different order{'' if different == 1 else 's'}: "
        f"{sorted_turns} times by number"
    )
