"""Boxes in rows, such as who does what when; tables as colours or numbers; words in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch

from ddl_class.plots.frame import panels
from ddl_runtime.pictures.style import INK, figure_of, ink_on

DIGIT = 7.0  # points that a digit is wide
AXES = 0.8  # of a picture's width, where a legend may lie beside them


def write(ax: Axes, x: float, y: float, words: object, **look: Any) -> None:
    """Words around a place; the keyword `on` is the colour of what lies below them."""
    if "on" in look:
        look["color"] = ink_on(look.pop("on"))
    ax.text(x, y, str(words), **{"ha": "center", "va": "center", "fontsize": 8, **look})


def draw_boxes(
    ax: Axes,
    rows: Iterable[float],
    begins: Iterable[float],
    ends: Iterable[float],
    half: float = 0.42,
    **look: Any,
) -> None:
    """A box in a row for each begin and end, `half` a row high above and below its middle."""
    corners = [
        [(begin, row - half), (begin, row + half), (end, row + half), (end, row - half)]
        for row, begin, end in zip(rows, begins, ends, strict=True)
    ]
    ax.add_collection(PolyCollection(corners, **{"edgecolors": "white", **look}))


def write_into_boxes(
    ax: Axes,
    rows: Iterable[float],
    begins: Iterable[float],
    ends: Iterable[float],
    words: Iterable[object],
    on: Iterable[Any],
    reach: float,
) -> None:
    """Words into each box that is wide enough for them, of axes that are `reach` long."""
    points = 72 * AXES * figure_of(ax).get_figwidth() / reach
    for row, begin, end, text, colour in zip(rows, begins, ends, words, on, strict=True):
        if (end - begin) * points > DIGIT * len(str(text)):
            write(ax, (begin + end) / 2, row, text, on=colour)


def round_box(
    ax: Axes, x: float, y: float, width: float, height: float, radius: float, **look: Any
) -> None:
    """A box with round corners, by its lower left corner."""
    style = f"round,pad=0,rounding_size={radius}"
    look = {"edgecolor": INK, **look}
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, **look))


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
