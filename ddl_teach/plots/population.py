"""A population that trains: who lost, whom they copied, and the schedule that came of it.

Left every member's loss, generation by generation; a dotted line leads from the winner to the
member that went on from its state. Right what one setting was on all members, and, thick, on the
way to the best: nobody has planned that schedule. What to look at: how few lines of the beginning
have descendants at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from ddl_teach.plots.style import Picture, describe, in_style

LOOKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "goes on": {"color": "#b8b8b8", "linewidth": 1.0},
        "goes on from a winner's state": {"color": "#56b4e9", "linewidth": 1.4, "linestyle": ":"},
        "way of the best": {
            "color": "#d55e00",
            "linewidth": 2.6,
            "marker": "o",
            "markersize": 4.5,
        },
    }
)


@in_style
def plot_population(
    losses: Sequence[np.ndarray],
    parents: Sequence[np.ndarray],
    values: Sequence[Sequence[float]],
    *,
    name: str = "rate",
    title: str | None = None,
) -> Figure:
    """Draw losses, parents and a setting called `name`, of each generation (rows) and member;
    `parents[g][m]` is whose state of generation g - 1 member m went on from in generation g."""
    losses, parents, values = np.array(losses), np.array(parents), np.array(values, float)
    if not losses.shape == parents.shape == values.shape or losses.ndim != 2:
        raise ValueError(
            f"losses {losses.shape}, parents {parents.shape} and values {values.shape}: give a "
            "row for each generation, and in it a number for each member, in all three"
        )
    line = _line_of_the_best(losses, parents)
    figure = Picture(figsize=(9.5, 3.8))
    left, right = figure.subplots(1, 2)
    seen = np.where(np.isinf(losses), np.nan, losses)  # who crashed has no loss
    _draw(left, seen, parents, line)
    _draw(right, values, parents, line)
    lines = [Line2D([], [], **look) for look in LOOKS.values()]
    left.legend(lines, LOOKS)
    for ax, label in ((left, "loss"), (right, name)):
        ax.set_xlabel("generation")
        ax.set_ylabel(label)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(True)
    for ax, shown in ((left, seen[~np.isnan(seen)]), (right, values)):
        if (shown > 0).all() and shown.max() > 5 * shown.min():
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
    found = finding(losses, parents, values, name)
    figure.suptitle(found if title is None else title, x=0.01, ha="left", weight="bold", size=11.5)
    describe(figure, f"Losses and {name} of a population over its generations. {found}.")
    return figure


def finding(losses: np.ndarray, parents: np.ndarray, values: np.ndarray, name: str) -> str:
    """How many of the first have descendants, and where the schedule led."""
    line = _line_of_the_best(losses, parents)
    alive = np.arange(losses.shape[1])
    for row in parents[:0:-1]:
        alive = row[alive]
    first, last = values[0, line[0]], values[-1, line[-1]]
    way = "stayed at" if first == last else f"went from {first:.3g} to"
    return (
        f"All {losses.shape[1]} members descend from {len({*alive.tolist()})} of the first; the "
        f"best's {name} {way} {last:.3g}"
    )


def _line_of_the_best(losses: np.ndarray, parents: np.ndarray) -> list[int]:
    """The member that carried the best's weights, in each generation."""
    line = [int(np.argmin(losses[-1]))]
    for row in parents[:0:-1]:
        line.append(int(row[line[-1]]))
    return line[::-1]


def _draw(ax: Axes, rows: np.ndarray, parents: np.ndarray, line: Sequence[int]) -> None:
    """Each member goes on from what its parent had; the line of the best lies above."""
    for generation in range(1, len(rows)):
        span = generation - 1, generation
        for member, parent in enumerate(parents[generation].tolist()):
            look = LOOKS["goes on" if parent == member else "goes on from a winner's state"]
            ax.plot(span, (rows[generation - 1, parent], rows[generation, member]), **look)
    ax.plot(rows, ".", color="#999999", markersize=4)
    path = [row[member] for row, member in zip(rows, line, strict=True)]
    ax.plot(path, **LOOKS["way of the best"])
