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
from matplotlib.ticker import MaxNLocator

from ddl_class.plots.frame import finish_panels, log_scale, panels
from ddl_runtime.pictures.style import Look, in_style

BEST: Look = {"color": "#d55e00", "linewidth": 2.6, "marker": "o", "markersize": 4.5}
LOOKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "goes on": {"color": "#b8b8b8", "linewidth": 1.0},
        "goes on from a winner's state": {"color": "#56b4e9", "linewidth": 1.4, "linestyle": ":"},
        "way of the best": BEST,
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
    lost, came_from, settings = np.array(losses), np.array(parents), np.array(values, float)
    if not lost.shape == came_from.shape == settings.shape or lost.ndim != 2:
        raise ValueError(
            f"losses {lost.shape}, parents {came_from.shape} and values {settings.shape}: give a "
            "row for each generation, and in it a number for each member, in all three"
        )
    line, alive = [int(np.argmin(lost[-1]))], np.arange(lost.shape[1])
    for row in came_from[:0:-1]:
        line.append(int(row[line[-1]]))
        alive = row[alive]
    line.reverse()
    axes = panels(9.5, 3.8, columns=2)
    seen = np.where(np.isinf(lost), np.nan, lost)  # who crashed has no loss
    for ax, label, rows in ((axes[0], "loss", seen), (axes[1], name, settings)):
        _draw(ax, rows, came_from, line)
        ax.set(xlabel="generation", ylabel=label)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(True)
        shown = rows[~np.isnan(rows)]
        if (shown > 0).all() and shown.max() > 5 * shown.min():
            log_scale(ax, "y")
    axes[0].legend([Line2D([], [], **look) for look in LOOKS.values()], LOOKS)
    first, last = settings[0, line[0]], settings[-1, line[-1]]
    way = "stayed at" if first == last else f"went from {first:.3g} to"
    found = (
        f"All {len(alive)} members descend from {len({*alive.tolist()})} of the first; the best's "
        f"{name} {way} {last:.3g}"
    )
    about = f"Losses and {name} of a population over its generations"
    return finish_panels(axes, about, found, title)


def _draw(ax: Axes, rows: np.ndarray, parents: np.ndarray, line: Sequence[int]) -> None:
    """Each member goes on from what its parent had; the line of the best lies above."""
    for generation in range(1, len(rows)):
        span = generation - 1, generation
        for member, parent in enumerate(parents[generation].tolist()):
            look = LOOKS["goes on" if parent == member else "goes on from a winner's state"]
            ax.plot(span, (rows[generation - 1, parent], rows[generation, member]), **look)
    ax.plot(rows, ".", color="#999999", markersize=4)
    ax.plot([row[member] for row, member in zip(rows, line, strict=True)], **BEST)
