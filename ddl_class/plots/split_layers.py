"""How layers are split: who holds which part of a matrix, what a layer sends either way, and how
long that takes.

`plot_cuts` draws matrices with a colour per rank; `plot_either_way` lays the numbers that a layer
sends split by data beside those split by model; `plot_ways` draws times over whatever is varied.
What to look at: colours that meet at an edge fit together; the shorter bar changes sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ddl_class.plots.curves import Curves, draw_all, explain
from ddl_class.plots.frame import BESIDE, count, finish, log_scale
from ddl_runtime.pictures.style import INK, in_style, new_axes, rank_colour, time_text

EVERYBODY = "#dddddd"
DATA, MODEL = "#4477aa", "#ee6677"
WAYS = (DATA, MODEL, "#228833", "#ccbb44")
GAP, PLUS = 2.2, 0.28  # between matrices, and between the parts of a sum
CUTS = {"": "whole", "columns": "by columns", "rows": "by rows", "sum": "a sum of parts"}


@in_style
def plot_cuts(matrices: Sequence[tuple[str, int, int, str]], ranks: int, *, title: str) -> Figure:
    """Draw (name, height, width, cut) next to each other; the cut is one of

    "" on every rank, "columns" and "rows" a colour per rank, "sum" a part of the sum from each.
    """
    ax = new_axes(9.0, 2.9)
    left, tallest = 0.0, max(height for _, height, _, _ in matrices)
    for name, height, width, cut in matrices:
        if cut not in CUTS:
            raise ValueError(f'{name}: cut is "", "columns", "rows" or "sum", not {cut!r}')
        bottom = (tallest - height) / 2
        for part in range(ranks if cut else 1):
            x, y, w, h = left, bottom, float(width), float(height)
            if cut == "columns":
                x, w = left + part / ranks * width, width / ranks
            elif cut == "rows":
                y, h = bottom + height * (1 - (part + 1) / ranks), height / ranks
            elif cut == "sum":
                x, y = left + PLUS * part, bottom - PLUS * part
            colour = rank_colour(part) if cut else EVERYBODY
            ax.add_patch(Rectangle((x, y), w, h, facecolor=colour, edgecolor="white"))
        ax.text(left + width / 2, tallest + 0.5, name, ha="center", fontsize=11)
        left += width + GAP
    ax.set_xlim(-0.5, left)
    ax.set_ylim(-1.6, tallest + 1.8)
    ax.set_aspect("equal")
    ax.axis("off")
    words = "a colour is a rank, grey is on every rank, coloured sheets are to be added"
    ax.text(-0.4, -1.4, words, fontsize=9, color=INK)
    parts = ", ".join(f"{name} {CUTS[cut]}" for name, _, _, cut in matrices)
    return finish(ax, title, f"Matrices over {ranks} ranks: {parts}", title, grid="")


@in_style
def plot_either_way(
    names: Sequence[str], weights: Sequence[float], activations: Sequence[float], *,
    title: str | None = None,
) -> Figure:  # fmt: skip
    """Draw, for each layer, how many numbers are summed by data and handed on by model."""
    ax = new_axes(9.0, 0.42 * len(names) + 1.6)
    places = np.arange(len(names))[::-1]
    ax.barh(places + 0.2, weights, 0.36, color=DATA, label="by data: weights")
    model = "by model: inputs of the batch"
    ax.barh(places - 0.2, activations, 0.36, color=MODEL, label=model)
    ax.set_xscale("log")
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0)
    by_data = sum(one < other for one, other in zip(weights, activations, strict=True))
    found = f"{by_data} layers send less by data, {len(names) - by_data} by model"
    about, x = (
        f"Numbers sent by each of {len(names)} layers",
        "numbers that go round the ring twice in a step",
    )
    return finish(ax, about, found, title, x=x, grid="x", legend=BESIDE)


@in_style
def plot_ways(
    axis: str, predicted: Curves | None = None, simulated: Curves | None = None,
    measured: Curves | None = None, *, title: str,
) -> Figure:  # fmt: skip
    """Draw times over what `axis` names, a colour a way: lines predicted, squares simulated, dots
    measured, with (lows, highs) as a third part if known. Both axes are logarithmic."""
    ax = new_axes(9.0, 4.2)
    given = {"predicted": predicted, "simulated": simulated, "measured": measured}
    grounds = {ground: curves for ground, curves in given.items() if curves}
    colours = draw_all(ax, grounds, lambda _, place: WAYS[place], label="")
    *_, (places, *_) = (curve for curves in grounds.values() for curve in curves.values())
    log_scale(ax, "x", count, base=2, at=places)
    log_scale(ax, "y", time_text)
    explain(ax, colours, grounds)
    return finish(ax, f"Times over {axis} of {', '.join(colours)}", title, x=axis, y="time")
