"""Architectures in pictures: a cell, the front of all that were trained, and two ways of scoring.

A cell's places stand in a row, its operations are arcs above them; those that lead nowhere are
pale. On a front every mark is a trained network, a colour for each search; the staircase joins
those that no other one dominates. What to look at: where the staircase is flat, more of the price
buys nothing; and how wide the cloud is where two scores should agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.ticker import PercentFormatter

from ddl_teach.plots.style import (
    INK,
    Picture,
    Points,
    describe,
    in_style,
    new_axes,
    rank_colour,
)

PALE = "#c9ccd1"
PLACE = 0.16  # half a place's width, in distances between two


@in_style
def plot_cell(
    operations: Mapping[str, str],
    living: Collection[str],
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw `operations` by their edges, as {"0-1": "conv3"}; those that are `living` in ink."""
    ax = new_axes(9.0, 3.4) if ax is None else ax
    last = max(int(edge.split("-")[1]) for edge in operations)
    drawn = {edge: name for edge, name in operations.items() if name != "none"}
    for edge, name in drawn.items():
        start, end = map(int, edge.split("-"))
        ink = INK if edge in living else PALE
        reach = end - start
        # The end of an arc is a little left of the middle, so that arrows do not meet.
        ax.add_patch(
            FancyArrowPatch(
                (start + PLACE * 0.6, PLACE), (end - PLACE * 0.6, PLACE),
                connectionstyle=f"arc3,rad={-0.28 - 0.1 * reach}",
                arrowstyle="-|>", mutation_scale=13, linewidth=1.6, color=ink,
            )
        )  # fmt: skip
        height = PLACE + (0.14 + 0.05 * reach) * reach
        box = {"facecolor": "white", "edgecolor": ink, "boxstyle": "round,pad=0.25"}
        middle = (start + end) / 2
        ax.text(middle, height, name, ha="center", va="center", color=ink, bbox=box, fontsize=9)
    for place in range(last + 1):
        box = {"boxstyle": "round,pad=0,rounding_size=0.05", "color": INK}
        ax.add_patch(FancyBboxPatch((place - PLACE, -PLACE), 2 * PLACE, 2 * PLACE, **box))
        look = {"ha": "center", "va": "center", "color": "white", "fontweight": "bold"}
        ax.text(place, 0, place, **look)
    ax.text(0, -0.3, "what comes in", ha="center", color=INK)
    ax.text(last, -0.3, "what goes out", ha="center", color=INK)
    ax.set_xlim(-0.6, last + 0.6)
    ax.set_ylim(-0.4, PLACE + (0.14 + 0.05 * last) * last + 0.15)
    ax.axis("off")
    dead = len(drawn) - sum(edge in living for edge in drawn)
    found = f"{len(drawn) - dead} of {len(operations)} edges count" + (
        f"; {dead} more hold an operation and lead nowhere" if dead else ""
    )
    ax.set_title(found if title is None else title)
    edges = ", ".join(
        f"{edge} {name}{'' if edge in living else ' (leads nowhere)'}"
        for edge, name in drawn.items()
    )
    describe(ax.figure, f"A cell of {last + 1} places. {found}. {edges or 'No operation'}.")
    return ax.figure


@in_style
def plot_architectures(
    clouds: Mapping[str, Points],
    front: Points,
    price: str,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw clouds of (prices, errors) by the search's name, and the front through all of them."""
    if not len(front[0]) or len(front[0]) != len(front[1]):
        raise ValueError("a front needs at least one point, and as many errors as prices")
    ax = new_axes(9.0, 4.4) if ax is None else ax
    for number, (name, (prices, errors)) in enumerate(clouds.items()):
        look = {"color": rank_colour(number), "marker": "osD^v"[number % 5], "linestyle": ""}
        ax.plot(prices, errors, label=name, alpha=0.65, markersize=5, **look)
    order = np.argsort(front[0])
    prices, errors = (np.asarray(one, float)[order] for one in front)
    ax.step(prices, errors, where="post", color=INK, linewidth=1.4, label="the front")
    ax.plot(prices, errors, "o", color=INK, markerfacecolor="none", markersize=9)
    ax.set_xscale("log")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.grid(True)
    ax.set_xlabel(price)
    ax.set_ylabel("errors on the validation part")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    trained = sum(len(one) for one, _ in clouds.values())
    found = (
        f"{len(prices)} of {trained} networks are on the front: {errors[0]:.1%} to "
        f"{errors[-1]:.1%} of errors for {prices[-1] / prices[0]:.3g} times the price"
    )
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Errors over {price}. {found}. Searches: {', '.join(clouds)}.")
    return ax.figure


@in_style
def plot_agreement(
    panels: Mapping[str, Points],
    taus: Mapping[str, tuple[float, float, float]],
    score: str = "errors when trained alone",
    *,
    title: str | None = None,
) -> Figure:
    """Draw for each cheaper way of scoring, by its name, (its scores, those of the costly way).

    `taus` are rank correlations with the ends of their intervals.
    """
    figure = Picture(figsize=(4.2 * len(panels), 4.0))
    axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    for ax, (name, (scores, alone)) in zip(axes, panels.items(), strict=True):
        ax.plot(scores, alone, "o", color=rank_colour(0), alpha=0.65)
        tau, low, high = taus[name]
        about = f"tau = {tau:.2f} ({low:.2f} to {high:.2f})"
        ax.set_title(about, fontweight="normal", fontsize=10)
        ax.set_xlabel(name)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        ax.grid(True)
    axes[0].set_ylabel(score)
    found = "; ".join(f"{name}: {_alike(taus[name][0])} of pairs alike" for name in panels)
    figure.suptitle(found if title is None else title, x=0.01, ha="left", fontweight="bold")
    about = "; ".join(f"{n}: tau {t:.2f}, {a:.2f} to {b:.2f}" for n, (t, a, b) in taus.items())
    describe(figure, f"Scores of {len(next(iter(panels.values()))[0])} architectures. {about}.")
    return figure


def _alike(tau: float) -> str:
    return f"{(1 + tau) / 2:.0%}"
