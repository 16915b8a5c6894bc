"""Ranks that average with neighbours: who speaks to whom, and how far apart they are.

Graphs are drawn as circles of ranks; where links change from step to step, each step's have a
colour of their own. Distances from the mean are drawn over steps (dots measured, lines predicted)
on a logarithmic axis, where a constant second eigenvalue is a straight line. What to look at: the
slope, and for the one-peer exponential graph that there is none: it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.style import (
    ALGORITHM_COLOURS,
    INK,
    Picture,
    Points,
    describe,
    in_style,
    new_axes,
    rank_colour,
)

COLOURS = tuple(ALGORITHM_COLOURS.values())
NOTHING = 1e-12  # of what was there at the beginning: only rounding is left

Rounds = Sequence[Sequence[Sequence[int]]]
"""For each step and each rank, to whom it sends."""


@in_style
def plot_graphs(graphs: Mapping[str, Rounds], title: str | None = None) -> Figure:
    """Draw each graph, by its name, as a circle of ranks with arrows."""
    figure = Picture(figsize=(2.4 * len(graphs), 2.9))
    for ax, (name, rounds) in zip(
        np.atleast_1d(figure.subplots(1, len(graphs))), graphs.items(), strict=True
    ):
        ranks = len(rounds[0])
        angles = np.pi / 2 - 2 * np.pi * np.arange(ranks) / ranks
        places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        both = {(a, b) for links in rounds for a, to in enumerate(links) for b in to}
        for step, links in enumerate(rounds):
            for rank, targets in enumerate(links):
                for to in targets:
                    mutual = (to, rank) in both and len(rounds) == 1
                    ax.add_patch(
                        FancyArrowPatch(
                            places[rank], places[to], arrowstyle="-" if mutual else "-|>",
                            mutation_scale=8, shrinkA=7, shrinkB=7, linewidth=1.0,
                            color=COLOURS[step] if len(rounds) > 1 else "#888888",
                        )
                    )  # fmt: skip
        ax.scatter(*places.T, s=90, color=[rank_colour(rank) for rank in range(ranks)], zorder=3)
        ax.set_title(name, fontsize=10, fontweight="normal", loc="center")
        ax.set_xlim(-1.25, 1.25)
        ax.set_ylim(-1.25, 1.25)
        ax.set_aspect("equal")
        ax.axis("off")
    busiest = {
        name: max(len(targets) for links in rounds for targets in links)
        for name, rounds in graphs.items()
    }
    found = "Messages a rank sends in a step: " + ", ".join(
        f"{count} ({name})" for name, count in busiest.items()
    )
    figure.suptitle(found if title is None else title, x=0.01, ha="left", fontweight="bold",
                    fontsize=11.5)  # fmt: skip
    describe(figure, f"Graphs of ranks. {found}.")
    return figure


@in_style
def plot_consensus(
    measured: Mapping[str, Sequence[float]],
    predicted: Mapping[str, Sequence[float]] | None = None,
    *,
    title: str | None = None,
) -> Figure:
    """Distances from the mean after 0, 1, ... steps, by name, as shares of the first one."""
    ax = new_axes(9.0, 4.2)
    ax.set_yscale("log")
    for place, (name, distances) in enumerate(measured.items()):
        colour = COLOURS[place % len(COLOURS)]
        if predicted and name in predicted:
            line = np.maximum(predicted[name], NOTHING)
            ax.plot(line, color=colour, linewidth=1.2)
        dots = np.maximum(np.asarray(distances, float) / distances[0], NOTHING)
        every = max(1, len(dots) // 25)
        steps = np.arange(0, len(dots), every)
        # Every second one hollow, so that dots in the same place are both seen.
        shape = {"marker": "s", "markersize": 7, "markerfacecolor": "none"} if place % 2 else {}
        ax.plot(steps, dots[::every], **{"marker": "o", "markersize": 4} | shape,
                linestyle="none", color=colour, label=name)  # fmt: skip
    ax.grid(True)
    ax.set_xlabel("steps" + (" (dots measured, lines predicted)" if predicted else ""))
    ax.set_ylabel("distance from the mean / first")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    found = finding(measured)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Distance of ranks from their mean, over steps. {found}.")
    return ax.figure


@in_style
def plot_disagreement(
    measured: Mapping[str, Points],
    predicted: Mapping[str, Points],
    *,
    title: str | None = None,
) -> Figure:
    """How far apart noise keeps ranks, by the name of the graph: (second eigenvalues, distances),
    over what is missing to 1 of the eigenvalue. The black line is the most that it can allow."""
    ax = new_axes(9.0, 4.2)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for place, (name, (second, apart)) in enumerate(measured.items()):
        colour = COLOURS[place % len(COLOURS)]
        ax.plot(1 - np.asarray(second), apart, "o", color=colour, label=name)
    for place, (second, apart) in enumerate(predicted.values()):
        ax.plot(1 - np.asarray(second), apart, color=COLOURS[place % len(COLOURS)], linewidth=1.2)
    gaps = np.geomspace(*ax.get_xlim(), 100)
    gaps = gaps[gaps < 1]
    ax.plot(gaps, 1 / np.sqrt(gaps * (2 - gaps)), ":", color=INK, linewidth=1.2, label="at most")
    ax.invert_xaxis()
    for axis, subs in ((ax.xaxis, (1.0,)), (ax.yaxis, (1.0, 2.0, 5.0))):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.grid(True)
    ax.set_xlabel("1 - second eigenvalue (dots measured, lines predicted)")
    ax.set_ylabel("distance from the mean / noise of a step")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    largest = {name: float(np.max(apart)) for name, (_, apart) in measured.items()}
    far, near = (extreme(largest, key=largest.get) for extreme in (max, min))
    found = (
        f"With noise of size 1 in each step, ranks end up to {largest[far]:.2g} apart on {far}, "
        f"{largest[near]:.2g} on {near}"
    )
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Distance of ranks from their mean under noise. {found}.")
    return ax.figure


def finding(measured: Mapping[str, Sequence[float]]) -> str:
    """Who ends nearest and who furthest, in one line."""
    last = {name: distances[-1] / distances[0] for name, distances in measured.items()}
    near, far = (extreme(last, key=last.get) for extreme in (min, max))
    steps = max(len(distances) for distances in measured.values()) - 1
    if near == far:
        return f"After {steps} steps {near} are {_share(last[near])} as far apart as before"
    return f"After {steps} steps {near} leaves {_share(last[near])}, {far} {_share(last[far])}"


def _share(part: float) -> str:
    if part < NOTHING:
        return "nothing"
    return f"{100 * part:.2g}%" if part < 10 else f"{part:.2g} times what there was"
