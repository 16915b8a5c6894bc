"""Who chooses what, and what that costs: maps of choices, and the regret of every chooser.

A cell of a map has the colour of what is chosen there; where several are tied, so that nobody can
tell who is the fastest, it is pale. Of the regrets every dot is a question, a bar is the mean with
its interval. What to look at: where the maps differ, and how little or how much that matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.boxes import draw_names
from ddl_class.plots.convolutions import METHOD_COLOURS, method_name
from ddl_class.plots.frame import (
    explain_colours,
    extremes,
    finish,
    finish_panels,
    log_scale,
    name_rows,
)
from ddl_runtime.pictures.style import (
    INK,
    algorithm_colour,
    in_style,
    new_axes,
    rank_colour,
    spoken,
)

PALE = 0.45  # of a colour, where it is one among equals
SPREAD = 0.3  # of a row: dots of one chooser above each other
TICKS = (1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)  # times as long as the best
Mean = tuple[float, float, float]
"""A mean and the two ends of its interval."""


@in_style
def plot_choices(
    maps: Mapping[str, Sequence[Sequence[str]]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    tied: Sequence[Sequence[bool]] | None = None,
    row_quantity: str,
    column_quantity: str,
    title: str | None = None,
) -> Figure:
    """Draw maps beside each other, each a name for each row and column; the first is the truth.

    An empty name leaves a cell white: nobody asked there.
    """
    shape = len(rows), len(columns)
    for name, chosen in maps.items():
        if np.shape(chosen) != shape:
            raise ValueError(f"the map of {name} has shape {np.shape(chosen)}, not {shape}")
    tables = {name: np.asarray(chosen) for name, chosen in maps.items()}
    pale = np.zeros(shape, bool) if tied is None else np.asarray(tied)
    names = sorted({*np.concatenate([*tables.values()]).ravel().tolist()} - {""})
    colours = {one: _colour(one, place) for place, one in enumerate(names)}
    strength = dict.fromkeys(tables, np.where(pale, PALE, 1.0))
    size = 1.4 + 2.5 * len(maps), 0.36 * len(rows) + 2.4
    axes = draw_names(tables, colours, strength, size)
    step = -(-len(columns) // 6)
    for ax in axes:
        ax.set_xticks(range(0, len(columns), step), columns[::step], rotation=45, ha="right")
        ax.set_xlabel(column_quantity)
    axes[0].set_yticks(range(len(rows)), rows)
    axes[0].set_ylabel(row_quantity)
    words = {_words(one): colour for one, colour in colours.items()}
    explain_colours(axes[-1], words | ({"(pale: tied)": "none"} if pale.any() else {}))
    about = f"Maps of choices over {row_quantity} and {column_quantity}"
    return finish_panels(axes, about, _agreement(tables), title)


def _agreement(tables: Mapping[str, np.ndarray]) -> str:
    """How often each map agrees with the first, in one line."""
    truth, *others = tables
    asked = tables[truth] != ""
    parts = [f"{name} {(tables[name] == tables[truth])[asked].mean():.0%}" for name in others]
    if not parts:
        return f"{truth}: {len(np.unique(tables[truth][asked]))} ways win somewhere"
    return f"As {truth}: {', '.join(parts)}"


@in_style
def plot_regrets(
    regrets: Mapping[str, Sequence[float]],
    means: Mapping[str, Mean],
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the regret of each question, a row for each chooser, the first one uppermost."""
    if not regrets or set(regrets) != set(means):
        raise ValueError(
            f"regrets of {', '.join(regrets) or 'nobody'} and means of "
            f"{', '.join(means) or 'nobody'}: give both of each chooser"
        )
    ax = new_axes(9.0, 1.6 + 0.5 * len(regrets)) if ax is None else ax
    for row, (name, values) in enumerate(regrets.items()):
        aside = SPREAD * (2 * np.random.default_rng(0).random(len(values)) - 1)
        colour = rank_colour(row)
        ax.plot(1 + np.asarray(values), row + aside, ".", color=colour, alpha=0.45, markersize=5)
        mean, low, high = (1 + number for number in means[name])
        ax.plot([low, high], [row, row], color=INK, linewidth=2.4)
        ax.plot([mean], [row], "D", color=colour, markeredgecolor=INK, markersize=7)
    log_scale(ax, "x", at=TICKS)
    name_rows(ax, regrets)
    x = "time of what was chosen / time of the best   (diamond: mean, bar: 95% interval)"
    about = "Regret of each chooser on questions held out"
    return finish(ax, about, _least(means), title, x=x, grid="x")


def _least(means: Mapping[str, Mean]) -> str:
    """Who regrets least, and who cannot be told from that, in one line."""
    best, _ = extremes({name: mean for name, (mean, _, _) in means.items()})
    close = [name for name, (_, low, _) in means.items() if name != best and low <= means[best][2]]
    text = f"Least mean regret: {best}, {means[best][0]:.1%}"
    if not close:
        return text
    others = close[0] if len(close) == 1 else f"{len(close)} others"
    return f"{text}; its interval meets that of {others}"


def _colour(name: str, position: int) -> Any:
    return METHOD_COLOURS.get(name) or algorithm_colour(name, position)


def _words(name: str) -> str:
    return method_name(name) if name in METHOD_COLOURS else spoken(name)
