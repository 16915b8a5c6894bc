"""Architectures in pictures: a cell, the front of all that were trained, and two ways of scoring.

What to look at: where the staircase is flat, more of the price buys nothing; and how wide the
cloud is where two scores should agree.
"""

from collections.abc import Collection, Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from ddl_class.plots.frame import (
    BESIDE,
    Plane,
    finish_panels,
    in_percent,
    need,
    panels,
    plane,
)
from ddl_runtime.pictures.style import INK, Look, Points, in_style, rank_colour

PALE = "#c9ccd1"
PLACE = 0.16  # half the width of a cell's place, in distances between two


@in_style
def plot_cell(operations: Mapping[str, str], living: Collection[str]) -> Figure:
    """Draw `operations` by their edges, as {"0-1": "conv3"}, as arcs above the cell's places;
    those that are `living` in ink, those that lead nowhere pale."""
    ax = plane(height=3.4)
    last = max(int(edge.split("-")[1]) for edge in operations)
    drawn = {edge: name for edge, name in operations.items() if name != "none"}
    for edge, name in drawn.items():
        _draw_arc(ax, edge, name, INK if edge in living else PALE)
    for place in range(last + 1):
        corner = place - PLACE, -PLACE
        ax.round_box(*corner, 2 * PLACE, 2 * PLACE, 0.05, facecolor=INK)
        ax.write(place, 0, place, color="white", fontweight="bold", fontsize=10)
    for place, words in ((0, "what comes in"), (last, "what goes out")):
        ax.write(place, -0.3, words, va="baseline", color=INK, fontsize=10)
    ax.set(xlim=(-0.6, last + 0.6), ylim=(-0.4, PLACE + (0.14 + 0.05 * last) * last + 0.15))
    ax.axis("off")
    alive = sum(edge in living for edge in drawn)
    found = f"{alive} of {len(operations)} edges count"
    if alive < len(drawn):
        found += f"; {len(drawn) - alive} more hold an operation and lead nowhere"
    edges = ", ".join(
        f"{edge} {name}{'' if edge in living else ' (leads nowhere)'}"
        for edge, name in drawn.items()
    )
    more = f"{edges or 'No operation'}."
    return ax.finish(f"A cell of {last + 1} places", found, grid="", more=more)


def _draw_arc(ax: Plane, edge: str, name: str, ink: str) -> None:
    start, end = map(int, edge.split("-"))
    reach = end - start
    # The end of an arc is a little left of the middle, so that arrows do not meet.
    ends = (start + PLACE * 0.6, PLACE), (end - PLACE * 0.6, PLACE)
    look: Look = {"arrowstyle": "-|>", "mutation_scale": 13, "linewidth": 1.6, "color": ink}
    bend = f"arc3,rad={-0.28 - 0.1 * reach}"
    ax.add_patch(FancyArrowPatch(*ends, connectionstyle=bend, **look))
    box = {"facecolor": "white", "edgecolor": ink, "boxstyle": "round,pad=0.25"}
    height = PLACE + (0.14 + 0.05 * reach) * reach
    ax.write((start + end) / 2, height, name, color=ink, bbox=box, fontsize=9)


@in_style
def plot_architectures(clouds: Mapping[str, Points], front: Points, price: str) -> Figure:
    """Draw clouds of (prices, errors) by the search's name, and the front through all of them: a
    mark is a trained network, the staircase joins those that no other one dominates."""
    words = "a front needs at least one point, and as many errors as prices"
    need(0 < len(front[0]) == len(front[1]), words)
    ax = plane(price, "errors on the validation part", 4.4)
    for number, (name, cloud) in enumerate(clouds.items()):
        look: Look = {"color": rank_colour(number), "marker": "osD^v"[number % 5], "linestyle": ""}
        ax.plot(*cloud, label=name, alpha=0.65, markersize=5, **look)
    order = np.argsort(front[0])
    prices, errors = (np.asarray(one, float)[order] for one in front)
    ax.step(prices, errors, where="post", color=INK, linewidth=1.4, label="the front")
    ax.plot(prices, errors, "o", color=INK, markerfacecolor="none", markersize=9)
    ax.set_xscale("log")
    in_percent(ax.yaxis)
    trained = sum(len(one) for one, _ in clouds.values())
    found = (
        f"{len(prices)} of {trained} networks are on the front: {errors[0]:.1%} to "
        f"{errors[-1]:.1%} of errors for {prices[-1] / prices[0]:.3g} times the price"
    )
    more = f"Searches: {', '.join(clouds)}."
    return ax.finish(f"Errors over {price}", found, legend=BESIDE, more=more)


@in_style
def plot_agreement(
    compared: Mapping[str, Points], taus: Mapping[str, tuple[float, float, float]]
) -> Figure:
    """Draw for each cheaper way of scoring, by its name, (its scores, those of the costly way).

    `taus` are rank correlations with the ends of their intervals.
    """
    axes = panels(4.2 * len(compared), 4.0, columns=len(compared), sharey=True)
    for ax, (name, points) in zip(axes, compared.items(), strict=True):
        ax.plot(*points, "o", color=rank_colour(0), alpha=0.65)
        tau, low, high = taus[name]
        words = f"tau = {tau:.2f} ({low:.2f} to {high:.2f})"
        ax.set_title(words, fontweight="normal", fontsize=10)
        ax.set_xlabel(name)
        in_percent(ax.xaxis, ax.yaxis)
        ax.grid(True)
    axes[0].set_ylabel("errors when trained alone")
    alike = {name: (1 + taus[name][0]) / 2 for name in compared}
    found = "; ".join(f"{name}: {share:.0%} of pairs alike" for name, share in alike.items())
    more = "; ".join(f"{n}: tau {t:.2f}, {a:.2f} to {b:.2f}" for n, (t, a, b) in taus.items())
    about = f"Scores of {len(next(iter(compared.values()))[0])} architectures"
    return finish_panels(axes, about, found, more=f"{more}.")
