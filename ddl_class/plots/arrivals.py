"""In which order ranks came, again and again: turns across, the first to come on top.

Each small box is a rank, in its colour. Were ranks to come in the order of their numbers there
would be stripes. What to look at: there are none, and no two runs look alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from ddl_class.plots.frame import BESIDE, explain_colours, finish
from ddl_runtime.pictures.style import Look, in_style, new_axes, rank_colour


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
    colours = {f"rank {rank}": rank_colour(rank) for rank in range(ranks)}
    look: Look = {"cmap": ListedColormap([*colours.values()]), "vmin": -0.5, "vmax": ranks - 0.5}
    edges = np.arange(turns + 1) + 0.5, np.arange(ranks + 1) - 0.5
    ax.pcolormesh(*edges, order, edgecolor="white", linewidth=0.6, **look)
    ax.invert_yaxis()
    ax.set_yticks(*([0, ranks - 1], ["first", "last"]) if ranks > 1 else ([0], ["first"]))
    explain_colours(ax, colours, **{**BESIDE, "bbox_to_anchor": (1.01, 1.03)})
    different = len(np.unique(order, axis=1).T)
    by_number = int((order == np.arange(ranks)[:, None]).all(axis=0).sum())
    orders = f"{different} different order{'' if different == 1 else 's'}"
    found = f"{turns} turns, {orders}: {by_number} times by number"
    about = "The order in which ranks came, turn by turn"
    return finish(ax, about, found, title, x="turn", grid="")
