"""Strong beside weak scaling: speed-up and efficiency over the ranks, with intervals.

Left, how many times the baseline; the dashed line is as many times as there are more ranks.
Right, the same divided by that line. Bars are 95% intervals. What to look at: strong scaling bends
away from the line, weak scaling need not; whoever shows one of them should say which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, PercentFormatter

from ddl_teach.plots.style import ALGORITHM_COLOURS, Picture, describe, in_style

COLOURS = {"strong": ALGORITHM_COLOURS["ring"], "weak": ALGORITHM_COLOURS["recursive_doubling"]}
IDEAL = "#999999"


class Row(Protocol):
    """A number of ranks; each triple is a median and the ends of its interval."""

    ranks: int
    speed_up: tuple[float, float, float]
    efficiency: tuple[float, float, float]


class Base(Protocol):
    """What was compared with, in words, and its ranks."""

    ranks: int
    what: str


class Scaling(Protocol):
    """`kind` is "strong" or "weak"."""

    kind: str
    baseline: Base
    rows: Sequence[Row]


@in_style
def plot_scaling(*scalings: Scaling, title: str | None = None) -> Figure:
    """Draw one kind of scaling, or both of them, best with the same baseline."""
    if not scalings or not all(each.rows for each in scalings):
        raise ValueError("nothing to draw: give at least one scaling with at least one row")
    figure = Picture(figsize=(9.0, 4.0))
    left, right = figure.subplots(1, 2)
    places = sorted({row.ranks for each in scalings for row in each.rows})
    more = np.array(places) / scalings[0].baseline.ranks
    left.plot(places, more, "--", color=IDEAL, linewidth=1.2, label="as many times as ranks")
    right.axhline(1, color=IDEAL, linestyle="--", linewidth=1.2)
    for each in scalings:
        _draw(left, each, "speed_up")
        _draw(right, each, "efficiency")
    for ax in (left, right):
        ax.set_xscale("log", base=2)
        ax.set_xticks(places, [f"{place:,}" for place in places])
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.grid(True)
        ax.set_xlabel("ranks")
    left.set_yscale("log", base=2)
    left.yaxis.set_major_formatter("{x:g}")
    left.set_ylabel("times the baseline's speed")
    left.legend(loc="upper left")
    right.set_ylim(bottom=0)
    right.yaxis.set_major_formatter(PercentFormatter(1.0))
    right.set_ylabel("efficiency")
    found = finding(scalings)
    figure.suptitle(found if title is None else title, x=0.01, ha="left", weight="bold", size=11.5)
    describe(figure, f"Speed-up and efficiency over the ranks. {found}.".replace("\n", " "))
    return figure


def finding(scalings: Sequence[Scaling]) -> str:
    """The efficiency of each at its most ranks, and against what."""
    said = []
    for each in scalings:
        last = each.rows[-1]
        middle, low, high = last.efficiency
        said.append(f"{each.kind} {middle:.0%} ({low:.0%} to {high:.0%}) on {last.ranks:,} ranks")
    against = " and ".join(dict.fromkeys(each.baseline.what for each in scalings))
    return f"Efficiency: {', '.join(said)}\nagainst {against}"


def _draw(ax: Axes, scaling: Scaling, what: str) -> None:
    ranks = [row.ranks for row in scaling.rows]
    middle, low, high = np.array([getattr(row, what) for row in scaling.rows]).T
    ax.errorbar(
        ranks, middle, (middle - low, high - middle), fmt="o-", capsize=3,
        color=COLOURS[scaling.kind], label=f"{scaling.kind} scaling",
    )  # fmt: skip
