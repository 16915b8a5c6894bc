"""Boxes in rows, such as who does what when, and words in the middle of things."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import FancyBboxPatch

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
