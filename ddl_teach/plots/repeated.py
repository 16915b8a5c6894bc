"""Every time that was measured, in the order in which it was, with what is said about all of them.

A dot is one repetition, the line the median, the band its interval. Outliers are hollow and stay.
What to look at: dots that climb or fall do depend on each other, and the band is then too narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_teach.plots.style import (
    describe,
    in_style,
    new_axes,
    rank_colour,
    time_text,
    time_unit,
)


class Repeated(Protocol):
    """All times of one thing, their median, the ends of its interval, the places of outliers."""

    times: Sequence[float]
    median: float
    low: float
    high: float
    confidence: float
    outliers: Sequence[int]


@in_style
def plot_repeated(
    measured: Mapping[str, Repeated], *, title: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the repetitions of one thing, or of several that took turns, by their names."""
    if not measured:
        raise ValueError("nothing to draw: give the times of at least one thing")
    ax = new_axes(9.0, 3.8) if ax is None else ax
    factor, unit = time_unit(max(max(each.times) for each in measured.values()))
    for number, (name, each) in enumerate(measured.items()):
        colour, times = rank_colour(number), factor * np.asarray(each.times)
        turns = np.arange(1, len(times) + 1)
        far = np.isin(turns - 1, each.outliers)
        ax.axhspan(factor * each.low, factor * each.high, color=colour, alpha=0.2, linewidth=0)
        ax.axhline(factor * each.median, color=colour, linewidth=1.4)
        ax.plot(
            turns[~far], times[~far], "o", color=colour, markersize=4, label=_label(name, each)
        )
        ax.plot(turns[far], times[far], "D", color=colour, markerfacecolor="none", markersize=6)
    ax.set_ylim(bottom=0)
    ax.grid(True, axis="y")
    ax.set_xlabel("repetition")
    ax.set_ylabel(f"time ({unit})")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, labelspacing=1.0)
    found = finding(measured)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"All repetitions, in order. {found}.")
    return ax.figure


def finding(measured: Mapping[str, Repeated]) -> str:
    """Medians, and how many outliers there are, in one line."""
    medians = ", ".join(f"{name} {time_text(each.median)}" for name, each in measured.items())
    worst = max(
        (each.times[place] / each.median for each in measured.values() for place in each.outliers),
        default=1.0,
    )
    count = sum(len(each.outliers) for each in measured.values())
    whole = sum(len(each.times) for each in measured.values())
    late = f"; {count} of {whole} are outliers, up to {worst:.2g} times a median" if count else ""
    return f"Medians: {medians}{late}"


def _label(name: str, each: Repeated) -> str:
    ends = f"{time_text(each.low)} to {time_text(each.high)}"
    return f"{name}: {time_text(each.median)}\n({ends} in {each.confidence:.0%})"
