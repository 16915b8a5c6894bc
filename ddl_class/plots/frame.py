"""What every picture has around its data: axes with units, a legend, a title, and its words.

A picture begins with `plane`, or with `panels`, and ends with `finish` or `finish_panels`: the
title says what was found, or what the caller asks for, and the text for those who cannot see it
says both what is drawn and what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
    PercentFormatter,
)

from ddl_runtime.pictures.style import (
    INK,
    Look,
    Picture,
    describe,
    figure_of,
    in_style,
    new_axes,
    size_text,
    time_text,
)

Text = Callable[[float], str]
"""How a number on an axis is written."""

BESIDE: Mapping[str, Any] = MappingProxyType(
    {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
)
"""Where a legend lies beside the axes: within them it would cover data."""

plain: Text = "{:g}".format
count: Text = "{:,.0f}".format


def count_in_short(number: float) -> str:
    """A count in three digits, in powers of 1000.

    >>> count_in_short(130_000_000), count_in_short(20)
    ('130 M', '20')
    """
    for size, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g}"


def need(given: object, words: str) -> None:
    """Refuse what cannot be drawn: without what is to be given, an error that says it."""
    if not given:
        raise ValueError(words)


def plane(x: str = "", y: str = "", height: float = 4.2, width: float = 9.0) -> Axes:
    """Empty axes with their names, in a picture of so many inches."""
    ax = new_axes(width, height)
    ax.set(xlabel=x, ylabel=y)
    return ax


@in_style
def finish(
    ax: Axes,
    about: str,
    found: str,
    title: str | None = None,
    *,
    grid: Literal["both", "x", "y", ""] = "both",
    legend: Mapping[str, Any] | None = None,
    more: str = "",
) -> Figure:
    """Show what was `found` as the title unless one is given, and say it in words.

    The words are what the picture is `about`, what was found, and `more`; `legend` is its place.
    """
    if grid:
        ax.grid(True, axis=grid)
    if legend is not None:
        ax.legend(**legend)
    ax.set_title(found if title is None else title, wrap=True)
    return _described(ax, about, found, more)


def panels(width: float, height: float, rows: int = 1, columns: int = 1, **how: Any) -> list[Axes]:
    """Axes in one picture, row by row; sizes in inches, `how` as for matplotlib's subplots."""
    grid = Picture(figsize=(width, height)).subplots(rows, columns, squeeze=False, **how)
    return list(grid.ravel())


def finish_panels(
    axes: Sequence[Axes], about: str, found: str, title: str | None = None, *, more: str = ""
) -> Figure:
    """The same for a picture of several axes: its title stands above all of them."""
    look: Look = {"x": 0.01, "ha": "left", "weight": "bold", "size": 11.5, "wrap": True}
    axes[0].figure.suptitle(found if title is None else title, **look)
    return _described(axes[0], about, found, more)


def _described(ax: Axes, about: str, found: str, more: str) -> Figure:
    figure, words = figure_of(ax), f"{about.rstrip('.')}. {found.rstrip('.')}. {more}"
    describe(figure, " ".join(words.split()))
    return figure


def log_scale(
    ax: Axes,
    which: Literal["x", "y"],
    text: Text = plain,
    *,
    base: float = 10.0,
    subs: Sequence[float] = (1.0, 2.0, 5.0),
    at: Sequence[float] | None = None,
) -> None:
    """Make an axis logarithmic, its numbers written out by `text`.

    They stand `at` the places given, or at powers of the base, those of ten times `subs`.
    """
    (ax.set_xscale if which == "x" else ax.set_yscale)("log", base=base)
    axis: Axis = ax.xaxis if which == "x" else ax.yaxis
    if at is not None:
        axis.set_major_locator(FixedLocator(at))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(LogLocator(base, subs if base == 10 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda number, _: text(number)))
    axis.set_minor_formatter(NullFormatter())


def scale_sizes_and_times(ax: Axes, sizes: str, times: str) -> None:
    """Two logarithmic axes: sizes in bytes to the right, seconds upwards, each with its name."""
    log_scale(ax, "x", size_text, base=2)
    low, high = np.log2(ax.get_xlim())
    # Every second power of two, or every fourth: labels that do not touch.
    step = max(1, int(np.ceil((high - low) / 8)))
    ax.xaxis.set_major_locator(LogLocator(base=2.0**step, numticks=20))
    ax.set_yscale("log")
    decades = np.ptp(np.log10(ax.get_ylim()))
    log_scale(ax, "y", time_text, subs=(1.0,) if decades > 3 else (1.0, 2.0, 5.0))
    ax.grid(True)
    ax.set_xlabel(sizes)
    ax.set_ylabel(times)


def write_numbers(axis: Axis, text: Text) -> None:
    """Write the numbers of an axis by `text`."""
    axis.set_major_formatter(FuncFormatter(lambda number, _: text(number)))


def in_percent(*axes: Axis) -> None:
    """Write shares on these axes as percent."""
    for axis in axes:
        axis.set_major_formatter(PercentFormatter(1.0))


def name_rows(ax: Axes, names: Collection[str]) -> None:
    """A row for each name, the first on top."""
    ax.set_yticks(range(len(names)), list(names))
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def explain_colours(ax: Axes, colours: Mapping[str, Any], **place: Any) -> None:
    """A legend that names colours; beside the axes unless another place is given."""
    patches = [Patch(facecolor=colour, label=name) for name, colour in colours.items()]
    ax.legend(handles=patches, **(place or BESIDE))


def note(
    ax: Axes, words: str, at: tuple[float, float], by: tuple[float, float] = (4, 0), **look: Any
) -> None:
    """Words beside a place of the data, `by` so many points away from it."""
    look = {"color": INK, "fontsize": 9, **look}
    ax.annotate(words, at, by, textcoords="offset points", **look)


def mark(ax: Axes, x: float, words: str = "", up: float = 0.97, **line: Any) -> None:
    """A vertical line with words beside it, `up` as a share of the picture's height."""
    ax.axvline(x, **{"color": INK, "linestyle": ":", "linewidth": 1.2, **line})
    place: Look = {"xycoords": ("data", "axes fraction"), "va": "top" if up > 0.5 else "bottom"}
    note(ax, words, (x, up), fontsize=8.5, **place)


def extremes(numbers: Mapping[str, float]) -> tuple[str, str]:
    """The names of the least and of the largest number."""
    return min(numbers, key=numbers.__getitem__), max(numbers, key=numbers.__getitem__)
