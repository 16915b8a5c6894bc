"""Servers and gossip: bytes in at the busiest rank, links between ranks, how far apart ranks are.

On a logarithmic axis of distances from the mean a constant second eigenvalue is a straight line.
What to look at: its slope, and that the one-peer exponential graph has none: it ends; and which
path takes in more bytes with more workers, and which does not.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import LogLocator

from ddl_class.plots.frame import (
    BRIGHT,
    Curves,
    Plane,
    Series,
    counted,
    each_end,
    extremes,
    panels,
    plane,
)
from ddl_runtime.pictures.style import INK, Look, Picture, Points, ink_on, rank_colour
from ddl_runtime.pictures.words import size_text

NOTHING = 1e-12  # of what was there at the beginning: only rounding is left
Rounds = Sequence[Sequence[Sequence[int]]]
"""For each step and each rank, to whom it sends."""


def plot_ingress(
    predicted: Curves, simulated: Curves | None = None, measured: Curves | None = None
) -> Picture:
    """Draw bytes over workers, for each path by its name; the last point of a line says it."""
    x = "workers   (line: predicted, square: simulated, dot: measured)"
    ax = plane(x, "bytes in, at the busiest rank", 4.4)
    grounds = {"predicted": predicted, "simulated": simulated, "measured": measured}
    ax.draw_all(grounds, label="")
    ax.log_scale("x", base=2)
    ax.log_scale("y", size_text, base=2)
    ax.yaxis.set_major_locator(LogLocator(base=8.0))
    for name, (workers, nbytes) in predicted.items():
        ax.note(f"  {name}", (workers[-1], nbytes[-1]), (0, 0), va="center", fontsize=10)
    left, right = ax.get_xlim()
    ax.set_xlim(left, right * 4)  # room for the names
    grown = {name: nbytes[-1] / nbytes[0] for name, (_, nbytes) in predicted.items()}
    growth = [f"{times:.3g} times ({name})" for name, times in each_end(grown).items()]
    workers = predicted[extremes(grown)[1]][0]
    takeaway = f"More bytes from {min(workers):,} to {max(workers):,} workers: "
    takeaway += ", ".join(reversed(growth))
    return ax.finish("Bytes that come in at the busiest rank over workers", takeaway)


def plot_graphs(graphs: Mapping[str, Rounds]) -> Picture:
    """Draw each graph, by its name, as a circle of ranks with arrows."""
    axes = panels(2.4 * len(graphs), 2.9, columns=len(graphs))
    busiest = []
    for ax, (name, rounds) in zip(axes, graphs.items(), strict=True):
        _draw_graph(ax, rounds)
        ax.set_title(name, fontsize=10, fontweight="normal", loc="center")
        most = max(len(targets) for links in rounds for targets in links)
        busiest.append(f"{most} ({name})")
    takeaway = f"Messages a rank sends in a step: {', '.join(busiest)}"
    return axes[0].finish_all("Graphs of ranks", takeaway)


def _draw_graph(ax: Plane, rounds: Rounds) -> None:
    ranks = len(rounds[0])
    angles = np.pi / 2 - 2 * np.pi * np.arange(ranks) / ranks
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    both = {(a, b) for links in rounds for a, to in enumerate(links) for b in to}
    for step, links in enumerate(rounds):
        for rank, to in ((rank, to) for rank, targets in enumerate(links) for to in targets):
            mutual = (to, rank) in both and len(rounds) == 1
            look: Look = {"arrowstyle": "-" if mutual else "-|>", "shrinkA": 8, "shrinkB": 8}
            look |= {"color": BRIGHT[step] if len(rounds) > 1 else "#888888", "linewidth": 1.0}
            ax.add_patch(FancyArrowPatch(places[rank], places[to], mutation_scale=8, **look))
    ax.scatter(places[:, 0], places[:, 1], 130, [*map(rank_colour, range(ranks))], zorder=3)
    for rank, place in enumerate(places):
        ax.note(
            f"{rank}", place, (0, 0), ha="center", va="center", color=ink_on(rank_colour(rank))
        )
    ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
    ax.axis("off")


def plot_consensus(
    series: Series,
    predicted: Series | None = None,
    *,
    how: Literal["simulated", "measured"] = "measured",
) -> Picture:
    """Distances from the mean after 0, 1, ... steps, by name, as shares of the first one.

    `how` they were found makes them hollow squares or dots.
    """
    marks = "squares" if how == "simulated" else "dots"
    x = "steps" + (f" ({marks} {how}, lines predicted)" if predicted else "")
    ax = plane(x, "distance from the mean / first")
    ax.set_yscale("log")
    for place, (name, distances) in enumerate(series.items()):
        colour = BRIGHT[place % len(BRIGHT)]
        if predicted and name in predicted:
            ax.plot(np.maximum(predicted[name], NOTHING), color=colour, linewidth=1.2)
        shares = np.maximum(np.asarray(distances, float) / distances[0], NOTHING)
        steps = np.arange(0, len(shares), max(1, len(shares) // 25))
        # Every second one large, and a dot a ring, so that marks in the same place are both seen.
        large: Look = {"markersize": 7, "markerfacecolor": "none"}
        look = large if place % 2 else {"markersize": 4}
        ax.draw_curve(how, (steps, shares[steps]), colour, name, **look)
    low, high = ax.get_ylim()
    if high < 1e3 * low:
        ax.log_scale("y")
    last = {name: distances[-1] / distances[0] for name, distances in series.items()}
    near, far = extremes(last)
    many = counted(max(len(distances) for distances in series.values()) - 1, "step")
    takeaway = f"After {many} {near} leaves {_share(last[near])}, {far} {_share(last[far])}"
    if near == far:
        takeaway = f"After {many} {near} are {_share(last[near])} as far apart as before"
    about = "Distance of ranks from their mean, over steps"
    return ax.finish(about, takeaway, legend="beside")


def plot_disagreement(simulated: Mapping[str, Points], predicted: Mapping[str, Points]) -> Picture:
    """How far apart noise keeps ranks, by the name of the graph: (second eigenvalues, distances),
    over what is missing to 1 of the eigenvalue. The black line is the most that it can allow."""
    x = "1 - second eigenvalue (squares simulated, lines predicted)"
    ax = plane(x, "distance from the mean / noise of a step")
    grounds = {
        ground: {name: (1 - np.asarray(second), apart) for name, (second, apart) in points.items()}
        for ground, points in (("simulated", simulated), ("predicted", predicted))
    }
    colours = ax.draw_all(grounds, BRIGHT, {"simulated": "{name}"}, linewidth=1.2)
    ax.log_scale("x")
    ax.log_scale("y")
    gaps = np.geomspace(*ax.get_xlim(), 100)
    gaps = gaps[gaps < 1]
    ax.plot(gaps, 1 / np.sqrt(gaps * (2 - gaps)), ":", color=INK, linewidth=1.2, label="at most")
    ax.invert_xaxis()
    largest = {name: float(np.max(simulated[name][1])) for name in colours}
    ends = [f"{apart:.2g} apart on {name}" for name, apart in each_end(largest).items()]
    takeaway = "With noise of size 1 in each step ranks end up to " + ", ".join(reversed(ends))
    return ax.finish("Distance of ranks from their mean under noise", takeaway, legend="beside")


def _share(part: float) -> str:
    if part < NOTHING:
        return "nothing"
    if part < 0.1:
        return f"{100 * part:.2g}%"
    return f"{part:.0%}" if part < 10 else f"{part:.2g} times what there was"
