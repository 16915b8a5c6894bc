"""What became of several networks: each way of making one answer, and the line between two.

Left to right every way has a dot for each seed, lower is better, and a bar at their median. On the
line between two networks the height is the loss, from one network (0) to the other (1). What to
look at: the middle of the line, 1/2, is their average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

from ddl_teach.plots.style import INK, Points, describe, in_style, new_axes, rank_colour

SPREAD = 0.22  # of a column: dots of one way beside each other
NO_ERROR = 1e-3  # where a network is drawn that makes none


@in_style
def plot_consolidated(
    accuracies: Mapping[str, Sequence[float]],
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the accuracies of each way, one for each seed."""
    if not accuracies:
        raise ValueError("nothing to draw: give the accuracies of at least one way")
    ax = new_axes(9.0, 4.2) if ax is None else ax
    for column, values in enumerate(accuracies.values()):
        # On a logarithmic axis of errors the good ones, all near 100%, can be told apart.
        wrong = np.maximum(1 - np.asarray(values), NO_ERROR)
        aside = np.linspace(-SPREAD, SPREAD, len(wrong)) if len(wrong) > 1 else np.zeros(1)
        ax.plot(column + aside, wrong, "o", color=rank_colour(column), markersize=4)
        ax.plot([column - 0.36, column + 0.36], [np.median(wrong)] * 2, color=INK)
        ax.annotate(
            f"{np.median(values):.1%}", (column, wrong.max()), (0, 6), ha="center",
            textcoords="offset points", fontsize=9, color=INK,
        )  # fmt: skip
    ax.set_yscale("log")
    ax.margins(y=0.12)
    ax.set_xticks(range(len(accuracies)), [name.replace(" ", "\n") for name in accuracies])
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(True, axis="y")
    ax.set_ylabel("not recognised, of pictures held out")
    ax.set_xlabel("what is made of the networks   (dot: a seed, bar: median, number: recognised)")
    found = best_and_worst(accuracies)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Accuracies on pictures held out, by what was made of them. {found}.")
    return ax.figure


def best_and_worst(accuracies: Mapping[str, Sequence[float]]) -> str:
    """Who is best and who worst by the median, in one line."""
    middle = {name: float(np.median(values)) for name, values in accuracies.items()}
    best, worst = max(middle, key=middle.get), min(middle, key=middle.get)
    return f"Best: {best}, {middle[best]:.1%}; worst: {worst}, {middle[worst]:.1%}"


@in_style
def plot_line(
    lines: Mapping[str, Points], *, title: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw losses over the places between two networks, for each line by its name."""
    if not lines:
        raise ValueError("nothing to draw: give at least one line, as (places, losses)")
    ax = new_axes(8.0, 4.0) if ax is None else ax
    for position, (name, (places, losses)) in enumerate(lines.items()):
        colour = rank_colour(position)
        ax.plot(places, losses, ".-", color=colour)
        highest = int(np.argmax(losses))
        ax.annotate(
            name, (places[highest], losses[highest]), (0, 6), textcoords="offset points",
            ha="center", color=colour, fontsize=9,
        )  # fmt: skip
    ax.margins(y=0.12)
    ax.set_ylim(bottom=0)
    ax.grid(True)
    ax.set_xlabel("place on the line   (0: one network, 1/2: their average, 1: the other)")
    ax.set_ylabel("mean loss, of pictures held out")
    found = hills(lines)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Loss along the straight line between two networks. {found}.")
    return ax.figure


def hills(lines: Mapping[str, Points]) -> str:
    """The highest and the lowest hill, above the higher one of their ends."""
    heights = {
        name: float(np.max(losses) - max(losses[0], losses[-1]))
        for name, (_, losses) in lines.items()
    }
    most, least = max(heights, key=heights.get), min(heights, key=heights.get)
    found = f"The hill between two networks: {heights[most]:.2g} ({most})"
    return found if most == least else f"{found}, {heights[least]:.2g} ({least})"
