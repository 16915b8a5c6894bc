"""Curves, each drawn as what it is: a prediction is a line, a simulation hollow squares, a
measurement dots with their intervals. So it is in every picture of the course.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ddl_class.plots.frame import BESIDE
from ddl_runtime.pictures.style import ALGORITHM_COLOURS, INK, rank_colour

Curve = Sequence[Any]
"""(x, y), or with (lows, highs) as a third part."""
Curves = Mapping[str, Curve]
NO_CURVES: Curves = MappingProxyType({})

BRIGHT = tuple(ALGORITHM_COLOURS.values())
"""Colours for a few curves."""

LOOKS: Mapping[str, Mapping[str, Any]] = {
    "simulated": {"linestyle": "", "marker": "s", "markerfacecolor": "none"},
    "measured": {"linestyle": "", "marker": "o"},
}
"""What is neither of these, such as "predicted" or "computed", is a line."""


def draw(
    ax: Axes, ground: str, curve: Curve | None, colour: Any, label: str | None = None, **look: Any
) -> None:
    """Draw one curve, if there is one, as what it is: "simulated", "measured" or a prediction."""
    if curve is None:
        return
    x, y, *intervals = curve
    ax.plot(x, y, **{**LOOKS.get(ground, {}), "color": colour, "label": label, **look})
    for lows, highs in intervals:
        ax.vlines(x, lows, highs, color=colour, linewidth=3, alpha=0.5)


def over_steps(runs: Mapping[str, Sequence[float] | np.ndarray], first: int = 0) -> Curves:
    """The values of each run over the numbers of its steps."""
    return {name: (range(first, first + len(run)), run) for name, run in runs.items()}


def by_position(_: str, position: int) -> Any:
    """A colour for each curve, by where it stands among the others."""
    return rank_colour(position)


def colours_of(colours: Sequence[str]) -> Callable[[str, int], str]:
    """The same from other colours."""
    return lambda _, position: colours[position % len(colours)]


bright = colours_of(BRIGHT)


def draw_lines(
    ax: Axes, curves: Curves, colour: Callable[[str, int], Any] = by_position, **look: Any
) -> None:
    """A line with its name for each curve, whatever ground it comes from."""
    draw_all(ax, {"": curves}, colour, "{name}", **look)


def draw_all(
    ax: Axes,
    grounds: Mapping[str, Curves | None],
    colour: Callable[[str, int], Any] = by_position,
    label: str | Mapping[str, str] = "{name}, {ground}",
    **look: Any,
) -> dict[str, Any]:
    """Draw curves by their ground and name, and return each name's colour.

    `label` is the pattern of a curve's words, or that of each ground that has some.
    """
    names = dict.fromkeys(name for curves in grounds.values() for name in curves or ())
    colours = {name: colour(name, place) for place, name in enumerate(names)}
    for ground, curves in grounds.items():
        pattern = label if isinstance(label, str) else label.get(ground, "")
        for name, curve in (curves or {}).items():
            words = pattern.format(name=name, ground=ground) or None
            draw(ax, ground, curve, colours[name], words, **look)
    return colours


def explain(ax: Axes, colours: Mapping[str, Any], grounds: Iterable[str], **place: Any) -> None:
    """A legend that says what the colours are, and then what lines, squares and dots are."""
    names = [Line2D([], [], color=it, linewidth=4, label=name) for name, it in colours.items()]
    marks = [Line2D([], [], color=INK, label=it, **LOOKS.get(it, {})) for it in grounds]
    ax.legend(handles=names + marks, **(place or BESIDE))
