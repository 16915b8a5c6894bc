"""Grids of ranks: who sits where, and what a step on each of them is spent on.

In `plot_places` a box is a node and a column a stage of the pipeline; within a column, rows are
copies of the network (data), and the squares of a row split each layer (tensor, to the right) and
the text (context, downwards). `plot_shares` stacks what a step is spent on, one bar a grid; hollow
squares and dots are what a simulation or a measurement says of the same grids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ddl_class.plots.boxes import write
from ddl_class.plots.curves import draw
from ddl_class.plots.frame import BESIDE, finish, name_rows
from ddl_runtime.pictures.style import INK, Look, in_style, new_axes, rank_colour, time_unit

PARTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "compute": ("computing", "#009e73"),
        "bubble": ("the bubble", "#d9d9d9"),
        "pipeline": ("messages between stages", "#56b4e9"),
        "tensor": ("sums along tensor", "#e69f00"),
        "context": ("keys and values going round", "#cc79a7"),
        "data": ("averaging gradients", "#0072b2"),
    }
)
"""What a step is spent on: its name for people, and its colour (Okabe and Ito)."""

Place = tuple[int, int, int, int]  # data, pipeline, tensor, context


@in_style
def plot_places(places: Sequence[Place], ranks_per_node: int, *, title: str) -> Figure:
    """Draw which rank sits where; rank r is at `places[r]` and on node r // ranks_per_node."""
    data, pipeline, tensor, context = (1 + max(axis) for axis in zip(*places, strict=True))
    ax = new_axes(1.6 + pipeline * (0.5 * tensor + 0.5), 1.3 + data * (0.45 * context + 0.3))
    wide, high = tensor + 1.0, context + 0.6
    for rank, (replica, stage, share, part) in enumerate(places):
        left, top = stage * wide + share, replica * high + part
        colour = rank_colour(rank // ranks_per_node)
        ax.add_patch(Rectangle((left, top), 0.94, 0.94, facecolor=colour, edgecolor="white"))
        write(ax, left + 0.47, top + 0.47, rank, on=colour, fontsize=8.5)
    ax.set_xlim(-0.2, pipeline * wide - 0.8)
    ax.set_ylim(data * high - 0.4, -0.2)
    stages, copies = np.arange(pipeline), np.arange(data)
    ax.set_xticks(stages * wide + tensor / 2, [f"stage {stage}" for stage in stages])
    ax.set_yticks(copies * high + context / 2, [f"copy {replica}" for replica in copies])
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    words = (
        f"{len(places)} ranks: data {data}, pipeline {pipeline}, tensor {tensor}, context "
        f"{context}, {ranks_per_node} ranks a node"
    )
    names: Look = {
        "x": "pipeline, and within a stage tensor; a colour is a node",
        "y": "data, and within a copy context",
    }
    return finish(ax, title, words, title, **names, grid="")


@in_style
def plot_shares(
    grids: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    title: str,
    also: Mapping[str, Sequence[float]] | None = None,
) -> Figure:
    """Draw the seconds of a step on each grid, by what they are spent on.

    `parts` are named as in PARTS; `also` are whole steps from other sources, such as "simulated".
    """
    unknown = sorted(parts.keys() - PARTS.keys())
    if unknown or not grids or not parts:
        raise ValueError(
            f"parts of a step are {', '.join(PARTS)}, a number of seconds for each grid, and at "
            f"least one; not {', '.join(unknown) or 'nothing'}"
        )
    totals = np.sum([*parts.values()], axis=0)
    factor, unit = time_unit(max(totals))
    ax = new_axes(9.0, 1.7 + 0.36 * len(grids))
    rows, left = range(len(grids)), np.zeros(len(grids))
    for name, (label, colour) in PARTS.items():
        if any(parts.get(name, ())):
            lengths = factor * np.asarray(parts[name])
            ax.barh(rows, lengths, 0.66, left, color=colour, label=label)
            left += lengths
    for name, times in (also or {}).items():
        edge = INK if name == "simulated" else "white"
        look: Look = {"markersize": 8, "markeredgecolor": edge, "markeredgewidth": 1.6}
        draw(ax, name, (factor * np.asarray(times), rows), INK, name, **look)
    name_rows(ax, grids)
    ax.set_xlim(left=0)
    ax.legend(**{**BESIDE, "bbox_to_anchor": (1.0, 1.0)})
    listed = "; ".join(
        f"{grid} {total * factor:.3g} {unit}" for grid, total in zip(grids, totals, strict=True)
    )
    words = f"Time of a step: {listed}"
    return finish(ax, title, words, title, x=f"time of a step ({unit})", grid="")
