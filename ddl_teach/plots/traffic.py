"""Who sent how much to whom: a square of ranks, dark where many bytes went.

What to look at: a ring is a line beside the diagonal, a server a row and a column, a recursive
doubling several lines at distances of powers of two.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ddl_teach.plots.style import describe, in_style, new_axes, size_text


@in_style
def plot_traffic(pairs: np.ndarray, *, title: str | None = None, ax: Axes | None = None) -> Figure:
    """Draw the bytes from each rank (row) to each (column)."""
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[0] != pairs.shape[1] or not pairs.size:
        raise ValueError(f"a table of shape {pairs.shape}: give a row and a column for each rank")
    ax = new_axes(6.4, 4.8) if ax is None else ax
    most = max(1, pairs.max())
    image = ax.imshow(pairs, cmap="Blues", vmin=0, vmax=most)
    size = FuncFormatter(lambda nbytes, _: size_text(nbytes))
    ticks = (0, most / 2, most)
    ax.figure.colorbar(image, ax=ax, label="bytes sent", format=size, ticks=ticks)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("to rank")
    ax.set_ylabel("from rank")
    found = finding(pairs)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Bytes between all pairs of ranks. {found}.")
    return ax.figure


def finding(pairs: np.ndarray) -> str:
    """How many pairs talk, and who is the busiest, in one line."""
    sent, received = pairs.sum(axis=1), pairs.sum(axis=0)
    talk = np.count_nonzero(pairs)
    if not talk:
        return "Nobody sent anything"
    busiest = max((sent, "sends"), (received, "receives"), key=lambda side: side[0].max())
    rank = int(busiest[0].argmax())
    return (
        f"{talk:,} of {pairs.size - len(pairs):,} pairs talk; rank {rank} {busiest[1]} the most, "
        f"{size_text(busiest[0][rank])}"
    )
