"""What each rank's sampler handed out: the share of every class, beside the data's own.

A row is a rank, a column a class, white is the data's own share; green is more, brown less. What
to look at: bias is the part of a rank's samples that would have to be exchanged; beside it stands
what chance alone would make of as many samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ddl_teach.plots.style import describe, in_style, new_axes


@in_style
def plot_balance(
    counts: np.ndarray, shares: Sequence[float], bias: Sequence[float], chance: Sequence[float],
    *, title: str | None = None, ax: Axes | None = None,
) -> Figure:  # fmt: skip
    """Draw how often each rank (row) was given each class, and the biases of the ranks."""
    counts, shares = np.asarray(counts, float), np.asarray(shares, float)
    if counts.ndim != 2 or counts.shape[1:] != shares.shape or not counts.sum(axis=1).all():
        raise ValueError(
            f"counts of shape {counts.shape} and {shares.size} shares: give one row for each "
            "rank, none empty, and a column for each class"
        )
    ranks = len(counts)
    ax = new_axes(9.0, float(np.clip(1.4 + 0.35 * ranks, 2.6, 7.0))) if ax is None else ax
    off = counts / counts.sum(axis=1, keepdims=True) - shares
    reach = max(float(np.abs(off).max()), 0.01)
    image = ax.imshow(off, cmap="BrBG", vmin=-reach, vmax=reach, aspect="auto")
    bar = ax.figure.colorbar(image, ax=ax, pad=0.16, label="share beyond the data's own")
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    for rank in range(min(ranks, 16)):
        words = f"bias {bias[rank]:.0%} (chance {chance[rank]:.0%})"
        ax.annotate(
            words, (1.01, rank), xycoords=("axes fraction", "data"), va="center", fontsize=8
        )
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("class")
    ax.set_ylabel("rank")
    found = finding(bias, chance)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Classes that each rank was given. {found}.")
    return ax.figure


def finding(bias: Sequence[float], chance: Sequence[float]) -> str:
    """The worst rank beside what chance would do to it, in one line."""
    worst = int(np.argmax(bias))
    times = bias[worst] / chance[worst] if chance[worst] else 1.0
    return (
        f"Rank {worst} is the most biased: {bias[worst]:.0%} of its samples, {times:.2g} times "
        "what chance makes"
    )
