"""A small operation graph by its levels: time goes upwards, an arrow leads to who waits.

Operations of one level could all be done in one step; there are as many levels as the longest
chain has operations. That chain (one of the longest) is drawn thick. What to look at: how wide
the lower levels are, and that the thick chain is hardly longer when the graph is twice as wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ddl_class.plots.boxes import write
from ddl_class.plots.frame import finish
from ddl_runtime.pictures.style import in_style, new_axes, rank_colour

MOST = 200
ARROWS, CHAIN = "#b5b8bd", "#d55e00"


@in_style
def plot_operation_graph(
    predecessors: Sequence[Sequence[int]],
    labels: Sequence[str] | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw for each operation its number, or its label, above those that it waits for."""
    if not 0 < len(predecessors) <= MOST:
        raise ValueError(
            f"{len(predecessors)} operations: from 1 up to {MOST} can be told apart in a picture"
        )
    if labels is not None and len(labels) != len(predecessors):
        raise ValueError(f"{len(labels)} labels for {len(predecessors)} operations: give one each")
    level = levels(predecessors)
    place = _places(predecessors, level)
    ax = new_axes(9.0, min(1.4 + 0.62 * level.max(), 7.5)) if ax is None else ax
    chain = _longest_chain(predecessors, level)
    steps = set(pairwise(chain))
    arrows = [(before, one) for one, group in enumerate(predecessors) for before in group]
    for chosen, colour, width in ((False, ARROWS, 1.0), (True, CHAIN, 2.2)):
        lines = [(place[a], place[b]) for a, b in arrows if ((a, b) in steps) == chosen]
        ax.add_collection(LineCollection(lines, colors=colour, linewidths=width, zorder=1))
    widths = np.bincount(level)[1:]
    size = float(np.clip(4000 / widths.max() ** 1.15, 30, 330))
    colours = [CHAIN if one in chain else rank_colour(0) for one in range(len(level))]
    ax.scatter(place[:, 0], place[:, 1], size, colours, zorder=2)
    if size > 90:
        for name, (x, y) in zip(labels or range(len(level)), place, strict=True):
            write(ax, x, y, name, color="white", zorder=3)
    ax.set_xlim(-0.04, 1.04)
    ax.set_ylim(0.4, level.max() + 0.6)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    found = f"{len(level)} operations, and the longest chain has {level.max()}"
    more = f"Operations on each level, the first first: {', '.join(map(str, widths))}."
    return finish(ax, "Graph by levels", found, title, y="level (steps)", grid="", more=more)


def levels(predecessors: Sequence[Sequence[int]]) -> np.ndarray:
    """One more than the highest level among those an operation waits for."""
    level = np.zeros(len(predecessors), int)
    for _ in range(len(predecessors) + 1):
        above = [1 + max((level[b] for b in group), default=0) for group in predecessors]
        if (level == above).all():
            return level
        level = np.array(above)
    raise ValueError("predecessors: an operation waits for itself; such a graph has no levels")


def _places(predecessors: Sequence[Sequence[int]], level: np.ndarray) -> np.ndarray:
    """Across: the first level in order, each other operation above the middle of what it needs."""
    across = np.zeros(len(level))
    for height in range(1, level.max() + 1):
        row = np.flatnonzero(level == height)
        wanted = [
            across[[*predecessors[one]]].mean() if predecessors[one] else one / len(level)
            for one in row.tolist()
        ]
        order = row[np.argsort(np.array(wanted), kind="stable")]
        across[order] = (np.arange(len(row)) + 0.5) / len(row)
    return np.stack([across, level], axis=1)


def _longest_chain(predecessors: Sequence[Sequence[int]], level: np.ndarray) -> list[int]:
    """Down from an operation of the highest level, always to one of the level below."""
    chain = [int(level.argmax())]
    while predecessors[chain[-1]]:
        chain.append(max(predecessors[chain[-1]], key=lambda one: level[one]))
    return chain[::-1]
