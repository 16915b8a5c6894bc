"""Who chooses what, and what that costs: maps of choices, and the regret of every chooser.

A cell of a map has the colour of what is chosen there; where several are tied, so that nobody can
tell who is the fastest, it is pale. Of the regrets every dot is a question, a bar is the mean with
its interval. What to look at: where the maps differ, and how little or how much that matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.convolutions import METHOD_COLOURS, method_name
from ddl_class.plots.curves import Series
from ddl_class.plots.frame import draw_names, extremes, finish_panels, need, plane
from ddl_runtime.pictures.style import INK, algorithm_colour, in_style, rank_colour, spoken

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
) -> Figure:
    """Draw maps beside each other, each a name for each row and column; the first is the truth.

    An empty name leaves a cell white: nobody asked there.
    """
    shape = len(rows), len(columns)
    tables = {name: np.asarray(chosen) for name, chosen in maps.items()}
    for name, table in tables.items():
        need(table.shape == shape, f"the map of {name} has shape {table.shape}, not {shape}")
    pale = np.zeros(shape, bool) if tied is None else np.asarray(tied)
    names = sorted({*np.concatenate([*tables.values()]).ravel().tolist()} - {""})
    colours = {name: _colour(name, place) for place, name in enumerate(names)}
    strength = dict.fromkeys(tables, np.where(pale, PALE, 1.0))
    size = 1.4 + 2.5 * len(maps), 0.36 * len(rows) + 2.4
    axes = draw_names(tables, colours, strength, size)
    step = -(-len(columns) // 6)
    for ax in axes:
        ax.set_xticks(range(0, len(columns), step), columns[::step], rotation=45, ha="right")
        ax.set_xlabel(column_quantity)
    axes[0].set_yticks(range(len(rows)), rows)
    axes[0].set_ylabel(row_quantity)
    words = {_words(name): colour for name, colour in colours.items()}
    axes[-1].explain_colours(words | ({"(pale: tied)": "none"} if pale.any() else {}))
    truth, *others = tables
    asked = tables[truth] != ""
    parts = [f"{name} {(tables[name] == tables[truth])[asked].mean():.0%}" for name in others]
    found = f"{truth}: {len(np.unique(tables[truth][asked]))} ways win somewhere"
    if parts:
        found = f"As {truth}: {', '.join(parts)}"
    return finish_panels(axes, f"Maps of choices over {row_quantity} and {column_quantity}", found)


@in_style
def plot_regrets(regrets: Series, means: Mapping[str, Mean]) -> Figure:
    """Draw the regret of each question, a row for each chooser, the first one uppermost."""
    words = f"regrets of {', '.join(regrets) or 'nobody'} and means of "
    words += f"{', '.join(means) or 'nobody'}: give both of each chooser"
    need(regrets and set(regrets) == set(means), words)
    x = "time of what was chosen / time of the best   (diamond: mean, bar: 95% interval)"
    ax = plane(x, height=1.6 + 0.5 * len(regrets))
    for row, (name, values) in enumerate(regrets.items()):
        aside = SPREAD * (2 * np.random.default_rng(0).random(len(values)) - 1)
        colour = rank_colour(row)
        ax.plot(1 + np.asarray(values), row + aside, ".", color=colour, alpha=0.45, markersize=5)
        mean, low, high = (1 + number for number in means[name])
        ax.plot([low, high], [row, row], color=INK, linewidth=2.4)
        ax.plot([mean], [row], "D", color=colour, markeredgecolor=INK, markersize=7)
    ax.log_scale("x", at=TICKS)
    ax.name_rows(regrets)
    best, _ = extremes({name: mean for name, (mean, _, _) in means.items()})
    close = [name for name, (_, low, _) in means.items() if name != best and low <= means[best][2]]
    found = f"Least mean regret: {best}, {means[best][0]:.1%}"
    if close:
        others = close[0] if len(close) == 1 else f"{len(close)} others"
        found += f"; its interval meets that of {others}"
    return ax.finish("Regret of each chooser on questions held out", found, grid="x")


def _colour(name: str, position: int) -> Any:
    return METHOD_COLOURS.get(name) or algorithm_colour(name, position)


def _words(name: str) -> str:
    return method_name(name) if name in METHOD_COLOURS else spoken(name)
