"""Bytes that come in at the busiest port in one step, over the number of workers.

A line is predicted, a hollow square simulated, a dot measured; each path has a colour. What to
look at: who grows with the workers, and who does not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from ddl_teach.plots.style import (
    INK,
    Points,
    describe,
    in_style,
    new_axes,
    rank_colour,
    size_text,
)


@in_style
def plot_ingress(
    predicted: Mapping[str, Points],
    simulated: Mapping[str, Points] = {},
    measured: Mapping[str, Points] = {},
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw bytes over workers, for each path by its name; the last point of a line says it."""
    ax = new_axes(9.0, 4.4) if ax is None else ax
    ends = []
    for position, (name, (workers, nbytes)) in enumerate(predicted.items()):
        colour = rank_colour(position)
        ax.plot(workers, nbytes, color=colour)
        ends.append((nbytes[-1], name, workers[-1]))
        if name in simulated:
            ax.plot(*simulated[name], "s", color=colour, markerfacecolor="none")
        if name in measured:
            ax.plot(*measured[name], "o", color=colour)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_locator(LogLocator(base=8.0))
    for nbytes, name, workers in ends:
        ax.annotate(f"  {name}", (workers, nbytes), color=INK, va="center")
    left, right = ax.get_xlim()
    ax.set_xlim(left, right * 4)  # room for the names
    ax.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:g}"))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
    ax.grid(True)
    ax.set_xlabel("workers   (line: predicted, square: simulated, dot: measured)")
    ax.set_ylabel("bytes in, at the busiest port")
    found = finding(predicted)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Bytes that come in at the busiest port over workers. {found}.")
    return ax.figure


def finding(predicted: Mapping[str, Points]) -> str:
    """By how much each path grows from the fewest workers to the most."""
    grown = {
        name: float(np.max(nbytes) / np.min(nbytes)) for name, (_, nbytes) in predicted.items()
    }
    most, least = max(grown, key=grown.get), min(grown, key=grown.get)
    workers = predicted[most][0]
    return (
        f"From {min(workers):g} to {max(workers):g} workers: {most} takes in {grown[most]:.3g} "
        f"times as much, {least} {grown[least]:.2g} times"
    )
