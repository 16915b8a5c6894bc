"""How a sum of sparse vectors fills in: its share of places that hold something, over the ranks.

A line is expected, a hollow square drawn or simulated, a dot measured. Above the dashed line the
sum is smaller as a dense vector. What to look at: how early the line bends, and which data stay
below it.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.curves import NO_CURVES, Curves, draw_all
from ddl_class.plots.frame import finish, log_scale, note
from ddl_runtime.pictures.style import INK, Look, in_style, new_axes


@in_style
def plot_fill_in(
    expected: Curves,
    found: Curves = NO_CURVES,
    *,
    dense_above: float = 0.5,
    how: str = "simulated",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw shares (0 to 1) over the number of ranks: lines, and squares, by name."""
    ax = new_axes(9.0, 4.0) if ax is None else ax
    ax.axhline(100 * dense_above, color=INK, linewidth=1.0, linestyle="--")
    place: Look = {"xycoords": ("axes fraction", "data")}
    note(ax, "above, the vector is smaller", (0.01, 100 * dense_above), (2, 4), **place)
    shown = {"expected": _in_percent(expected), "simulated": _in_percent(found)}
    draw_all(ax, shown, label={"expected": "{name}, expected", "simulated": f"{{name}}, {how}"})
    log_scale(ax, "x", base=2)
    ax.set_ylim(0, 103)
    said = "; ".join(
        f"{name}: {100 * shares[0]:.2g}% on {ranks[0]:g}, {100 * shares[-1]:.0f}% on {ranks[-1]:g}"
        for name, (ranks, shares) in expected.items()
    )
    return finish(
        ax,
        "Share of places that hold something over ranks",
        said,
        title,
        x="ranks whose vectors are added up",
        y="places of the sum that hold something (%)",
        legend={"loc": "upper left", "bbox_to_anchor": (0.0, 0.92)},
    )


def _in_percent(curves: Curves) -> Curves:
    return {name: (ranks, 100 * np.asarray(shares)) for name, (ranks, shares) in curves.items()}
