"""The noise floor: what each quantum of the same work took, and what many ranks pay for it.

Above, one dot for each quantum when it began; the dashed line is the least of all, and what is
above it is lost. Below, how many times the least P ranks take that wait for each other. What to
look at: dots in rows at equal distances are something that works by the clock.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_teach.plots.style import INK, Picture, Points, describe, in_style, rank_colour, time_unit


@in_style
def plot_noise(
    starts: Sequence[float], seconds: Sequence[float], slow_downs: Points,
    *, title: str | None = None,
) -> Figure:  # fmt: skip
    """Draw when quanta began and what they took; and the slow-down over the ranks."""
    starts, seconds = np.asarray(starts, float), np.asarray(seconds, float)
    if starts.shape != seconds.shape or not starts.size:
        raise ValueError(f"{starts.size} starts and {seconds.size} times: give one for each")
    figure = Picture(figsize=(9.0, 5.6))
    above, below = figure.subplots(2, 1, height_ratios=(3, 2))
    factor, unit = time_unit(float(seconds.max()))
    above.plot(starts, factor * seconds, ".", color=rank_colour(0), markersize=4)
    above.axhline(factor * seconds.min(), color=INK, linestyle="--", linewidth=1.2)
    above.annotate(
        "the least", (1.01, factor * seconds.min()), xycoords=("axes fraction", "data"),
        va="center", fontsize=9,
    )  # fmt: skip
    above.set_ylim(0, 1.08 * factor * seconds.max())
    above.set_xlabel("time when the quantum began (s)")
    above.set_ylabel(f"it took ({unit})")
    ranks, slower = (np.asarray(part, float) for part in slow_downs)
    below.plot(ranks, slower, "o-", color=rank_colour(3))
    below.set_xscale("log", base=2)
    below.xaxis.set_major_formatter("{x:,.0f}")
    below.set_ylim(bottom=1)
    below.set_xlabel("ranks that wait for each other after every quantum")
    below.set_ylabel("times the least")
    for ax in (above, below):
        ax.grid(True)
    found = finding(seconds, slow_downs)
    above.set_title(found if title is None else title)
    describe(figure, f"Times of equal quanta of work, and what many ranks lose. {found}.")
    return figure


def finding(seconds: np.ndarray, slow_downs: Points) -> str:
    """What one rank loses, and what the most ranks do."""
    lost = 1 - seconds.min() * len(seconds) / seconds.sum()
    ranks, slower = slow_downs
    return (
        f"One rank loses {lost:.1%} of its time; {ranks[-1]:,} ranks would take "
        f"{slower[-1]:.2g} times the least"
    )
