"""How layers are split: who holds which part of a matrix, what a layer sends either way, and how
long that takes.

`plot_cuts` draws matrices with a colour per rank; `plot_either_way` lays the numbers that a layer
sends split by data beside those split by model; `plot_ways` draws times over whatever is varied.
What to look at: colours that meet at an edge fit together; the shorter bar changes sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.style import INK, describe, in_style, new_axes, rank_colour, time_text

EVERYBODY = "#dddddd"
DATA, MODEL = "#4477aa", "#ee6677"
GAP, PLUS = 2.2, 0.28  # between matrices, and between the parts of a sum
Curve = tuple[Sequence[float], Sequence[float]]


@in_style
def plot_cuts(matrices: Sequence[tuple[str, int, int, str]], ranks: int, *, title: str) -> Figure:
    """Draw (name, height, width, cut) next to each other; the cut is one of

    "" on every rank, "columns" and "rows" a colour per rank, "sum" a part of the sum from each.
    """
    ax = new_axes(9.0, 2.9)
    left, tallest = 0.0, max(height for _, height, _, _ in matrices)
    for name, height, width, cut in matrices:
        bottom = (tallest - height) / 2
        for part in range(ranks if cut else 1):
            share = part / ranks
            x, y, w, h = left, bottom, width, height
            if cut == "columns":
                x, w = left + share * width, width / ranks
            elif cut == "rows":
                y, h = bottom + height * (1 - share - 1 / ranks), height / ranks
            elif cut == "sum":
                x, y = left + PLUS * part, bottom - PLUS * part
            elif cut:
                raise ValueError(f'{name}: cut is "", "columns", "rows" or "sum", not {cut!r}')
            colour = rank_colour(part) if cut else EVERYBODY
            ax.add_patch(Rectangle((x, y), w, h, facecolor=colour, edgecolor="white"))
        ax.text(left + width / 2, tallest + 0.5, name, ha="center", fontsize=11)
        left += width + GAP
    ax.set_xlim(-0.5, left)
    ax.set_ylim(-1.6, tallest + 1.8)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.text(
        -0.4, -1.4, "a colour is a rank, grey is on every rank, coloured sheets are to be added",
        fontsize=9, color=INK,
    )  # fmt: skip
    ax.set_title(title)
    parts = ", ".join(f"{name} {CUT_WORDS[cut]}" for name, _, _, cut in matrices)
    describe(ax.figure, f"{title}. Matrices over {ranks} ranks: {parts}.")
    return ax.figure


CUT_WORDS = {"": "whole", "columns": "by columns", "rows": "by rows", "sum": "a sum of parts"}


@in_style
def plot_either_way(
    names: Sequence[str], weights: Sequence[float], activations: Sequence[float], *,
    title: str | None = None,
) -> Figure:  # fmt: skip
    """Draw, for each layer, how many numbers are summed by data and handed on by model."""
    ax = new_axes(9.0, 0.42 * len(names) + 1.6)
    places = np.arange(len(names))[::-1]
    for values, offset, colour, label in (
        (weights, 0.2, DATA, "by data: weights"),
        (activations, -0.2, MODEL, "by model: inputs of the batch"),
    ):
        ax.barh(places + offset, values, 0.36, color=colour, label=label)
    ax.set_xscale("log")
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("numbers that go round the ring twice in a step")
    ax.grid(True, axis="x")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    by_data = sum(one < other for one, other in zip(weights, activations, strict=True))
    found = f"{by_data} layers send less by data, {len(names) - by_data} by model"
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Numbers sent by each of {len(names)} layers. {found}.")
    return ax.figure


@in_style
def plot_ways(
    axis: str, predicted: Mapping[str, Curve] | None = None,
    simulated: Mapping[str, Curve] | None = None,
    measured: Mapping[str, tuple] | None = None, *, title: str,
) -> Figure:  # fmt: skip
    """Draw times over what `axis` names, a colour a way: lines predicted, squares simulated, dots
    measured, with (lows, highs) as a third part if known. Both axes are logarithmic."""
    ax = new_axes(9.0, 4.2)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    grounds = [("predicted", predicted), ("simulated", simulated), ("measured", measured)]
    looks = {
        "predicted": {"linestyle": "-"},
        "simulated": {"linestyle": "", "marker": "s", "markerfacecolor": "none", "markersize": 9},
        "measured": {"linestyle": "", "marker": "o", "markersize": 5},
    }
    names = list(dict.fromkeys(name for _, curves in grounds for name in curves or {}))
    colours = dict(zip(names, (DATA, MODEL, "#228833", "#ccbb44"), strict=False))
    for ground, curves in grounds:
        for name, (x, y, *interval) in (curves or {}).items():
            ax.plot(x, y, color=colours[name], **looks[ground])
            if interval:
                ax.vlines(x, *interval[0], color=colours[name], linewidth=3, alpha=0.5)
            ticks = list(x)
    ax.set_xticks(ticks, [f"{one:,}" for one in ticks])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: time_text(seconds)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(True)
    ax.set_xlabel(axis)
    ax.set_ylabel("time")
    handles = [Line2D([], [], color=colours[name], linewidth=4, label=name) for name in names]
    handles += [
        Line2D([], [], color=INK, label=ground, **looks[ground])
        for ground, curves in grounds
        if curves
    ]
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    ax.set_title(title)
    describe(ax.figure, f"Times over {axis} of {', '.join(names)}. {title}.")
    return ax.figure
