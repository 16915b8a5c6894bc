"""Tables as pictures: cells with colours, numbers or both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from ddl_class.plots.boxes import write
from ddl_class.plots.frame import panels
from ddl_runtime.pictures.style import INK


def draw_names(
    tables: Mapping[str, np.ndarray],
    colours: Mapping[str, Any],
    strength: Mapping[str, np.ndarray],
    size: tuple[float, float],
) -> list[Axes]:
    """Tables beside each other, each cell in the colour of the name in it; the first row is below.

    The `strength` of a colour is between 0, which is white, and 1. An empty name is white too.
    """
    axes = panels(*size, columns=len(tables), sharey=True)
    for ax, (title, names) in zip(axes, tables.items(), strict=True):
        full = np.array([[to_rgb(colours.get(name, "white")) for name in row] for row in names])
        ax.imshow(1 - strength[title][..., None] * (1 - full), origin="lower", aspect="auto")
        ax.set_title(title, weight="normal", size=10)
    return axes


def write_numbers_into(ax: Axes, table: np.ndarray, dark_below: float, **look: Any) -> None:
    """A whole number into each cell that has one, white on what is dark: less than so much."""
    for (row, column), number in np.ndenumerate(table):
        if np.isfinite(number):
            ink = INK if number >= dark_below else "white"
            write(ax, column, row, f"{number:.0f}", color=ink, **look)


def part_pixels(ax: Axes, shape: tuple[int, ...], width: float) -> None:
    """White lines between the pixels of an image of this shape, in place of ticks."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xticks(np.arange(1, shape[1]) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, shape[0]) - 0.5, minor=True)
    ax.grid(True, which="minor", color="white", linewidth=width)
    ax.tick_params(which="both", length=0)
    ax.set_axisbelow(False)
