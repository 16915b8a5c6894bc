"""Grids of ranks: who sits where, and what a step on each of them is spent on.

In `plot_places` a box is a node and a column a stage of the pipeline; within a column, rows are
copies of the network (data), and the squares of a row split each layer (tensor, to the right) and
the text (context, downwards). `plot_shares` stacks what a step is spent on, one bar a grid; dots
are what a simulation or a measurement says of the same grids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ddl_teach.plots.style import INK, describe, in_style, new_axes, rank_colour, time_unit

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
        light = sum(colour) > 1.8
        ax.text(left + 0.47, top + 0.47, str(rank), ha="center", va="center", fontsize=8.5,
                color=INK if light else "white")  # fmt: skip
    ax.set_xlim(-0.2, pipeline * wide - 0.8)
    ax.set_ylim(data * high - 0.4, -0.2)
    ax.set_xticks([stage * wide + tensor / 2 for stage in range(pipeline)])
    ax.set_xticklabels([f"stage {stage}" for stage in range(pipeline)])
    ax.set_yticks([replica * high + context / 2 for replica in range(data)])
    ax.set_yticklabels([f"copy {replica}" for replica in range(data)])
    ax.tick_params(length=0)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.set_xlabel("pipeline, and within a stage tensor; a colour is a node")
    ax.set_ylabel("data, and within a copy context")
    ax.set_title(title)
    describe(
        ax.figure,
        f"{title}. {len(places)} ranks: data {data}, pipeline {pipeline}, tensor {tensor}, "
        f"context {context}, {ranks_per_node} ranks a node.",
    )
    return ax.figure


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
    totals = [sum(times) for times in zip(*parts.values(), strict=True)]
    factor, unit = time_unit(max(totals))
    ax = new_axes(9.0, 1.7 + 0.36 * len(grids))
    rows, left = range(len(grids)), [0.0] * len(grids)
    for name, (label, colour) in PARTS.items():
        if any(parts.get(name, ())):
            lengths = [time * factor for time in parts[name]]
            ax.barh(rows, lengths, left=left, height=0.66, color=colour, label=label)
            left = [a + b for a, b in zip(left, lengths, strict=True)]
    for name, times in (also or {}).items():
        shown = [time * factor for time in times]
        marker, face = ("o", INK) if name == "simulated" else ("D", "white")
        edge = "white" if face == INK else INK
        ax.plot(shown, rows, marker, color=face, markeredgecolor=edge, markersize=8,
                linestyle="none", label=name)  # fmt: skip
    ax.set_yticks(rows, grids)
    ax.set_ylim(len(grids) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"time of a step ({unit})")
    ax.set_title(title)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    listed = "; ".join(
        f"{grid} {total * factor:.3g} {unit}" for grid, total in zip(grids, totals, strict=True)
    )
    describe(ax.figure, f"{title}. Time of a step: {listed}.")
    return ax.figure
