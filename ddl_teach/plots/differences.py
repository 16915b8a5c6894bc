"""Where two results differ: the largest difference in each block, on a logarithmic scale.

White is no difference at all, red is no number. What to look at: a pattern. Rounding looks like
sand everywhere; a border, a corner or a stripe is a bug in how something was cut.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ddl_teach.plots.style import describe, in_style, new_axes

NO_NUMBER = "#cc3311"
DECADES = 6  # below the largest difference: smaller ones have the palest colour


@in_style
def plot_differences(
    table: np.ndarray, *, name: str = "the result", title: str | None = None,
    ax: Axes | None = None,
) -> Figure:  # fmt: skip
    """Draw a table of differences to a reference, none negative; infinite where no number is."""
    table = np.asarray(table, float)
    if table.ndim != 2 or not table.size or not (table >= 0).all():
        raise ValueError(f"a table of shape {table.shape}: give two axes, and no negative numbers")
    height = float(np.clip(9.0 * table.shape[0] / table.shape[1], 2.4, 6.0))
    ax = new_axes(9.0, height) if ax is None else ax
    finite = np.isfinite(table)
    largest = table.max(where=finite, initial=0.0)
    if largest > 0:
        shown = np.ma.masked_where(~finite | (table == 0), table)
        scale = LogNorm(largest / 10**DECADES, largest)
        image = ax.imshow(shown, cmap="YlGnBu", norm=scale, aspect="auto")
        ax.figure.colorbar(image, ax=ax, label="largest |difference| in a block")
    lost = np.ma.masked_where(finite, np.ones_like(table))
    ax.imshow(lost, cmap="Reds", vmin=0, vmax=1.2, aspect="auto")
    ax.set_xlabel("last axis (blocks)")
    ax.set_ylabel("all other axes (blocks)")
    found = finding(table, name)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"A map of differences to the reference. {found}.")
    return ax.figure


def finding(table: np.ndarray, name: str) -> str:
    """Where the largest difference is, in one line."""
    lost = int((~np.isfinite(table)).sum())
    if lost:
        return f"In {lost} of {table.size} blocks {name} is no number"
    if not table.any():
        return f"{name[:1].upper() + name[1:]} does not differ at all"
    row, column = np.unravel_index(table.argmax(), table.shape)
    most = f"{name[:1].upper() + name[1:]} differs by up to {table.max():.2g}"
    return f"{most}, in row {row}, column {column} of the map"
