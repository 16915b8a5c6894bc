"""Stale gradients in pictures: how old they are, how large a step they bear, and who waits.

A line is predicted, a hollow square simulated, a dot measured. What to look at: the stable step
falls like one over the staleness, on a plane of two logarithms a straight line; and behind a
straggler every bounded line bends up to the straggler's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ddl_teach.plots.style import (
    Points,
    describe,
    in_style,
    new_axes,
    rank_colour,
    time_text,
    time_unit,
)


@in_style
def plot_walks(
    walks: Mapping[str, Sequence[float]], *, title: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw what becomes of a weight, for a few steps by their names."""
    ax = new_axes(9.0, 3.6) if ax is None else ax
    for number, (name, walk) in enumerate(walks.items()):
        ax.plot(walk, color=rank_colour(number), label=name)
    ax.grid(True)
    ax.set_xlabel("updates")
    ax.set_ylabel("weight; the minimum is at 0")
    ax.legend(ncols=len(walks), loc="lower left")
    reach = max(np.max(np.abs(walk)) for walk in walks.values())
    ax.set_ylim(-1.5 * reach, 1.1 * reach)
    found = walks_finding(walks)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"A weight over the updates. {found}.")
    return ax.figure


def walks_finding(walks: Mapping[str, Sequence[float]]) -> str:
    """Which of them die out and which do not."""
    dies = {
        name: np.abs(np.array_split(walk, 4)[-1]).max() < 0.5 * np.abs(walk).max()
        for name, walk in walks.items()
    }
    shrinking = ", ".join(name for name, it in dies.items() if it)
    growing = ", ".join(name for name, it in dies.items() if not it)
    if not shrinking or not growing:
        return (
            f"The weight {'never' if growing else 'always'} comes to rest: {shrinking or growing}"
        )
    return f"The weight comes to rest with {shrinking}; not with {growing}"


@in_style
def plot_stable_steps(
    formula: Callable[[int], float],
    simulated: Points,
    measured: Points | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the largest stable step (rate x curvature) over the mean staleness.

    `formula(staleness)` is the line; points are ages and steps.
    """
    ax = new_axes(9.0, 4.2) if ax is None else ax
    oldest = int(np.ceil(max(simulated[0]))) + 1
    predicted = np.arange(oldest + 1), [formula(age) for age in range(oldest + 1)]
    ax.plot(*predicted, color=rank_colour(0), label="predicted: 2 sin(π / (2 (2 τ + 1)))")
    ax.plot(*simulated, "s", color=rank_colour(0), markerfacecolor="none", label="simulated")
    if measured is not None:
        ax.plot(*measured, "o", color=rank_colour(3), label="measured")
    ax.set_xscale("symlog", base=2, linthresh=1)
    ax.set_yscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:.3g}")
    ax.grid(True)
    ax.set_xlabel("mean staleness τ (updates of others between reading and writing)")
    ax.set_ylabel("largest stable step, rate × curvature")
    ax.legend()
    found = steps_finding(predicted, measured)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"The largest stable step over the staleness. {found}.")
    return ax.figure


def steps_finding(predicted: Points, measured: Points | None = None) -> str:
    """How much of the step is left; or how far the dots are from the line."""
    ages, steps = (np.asarray(part, float) for part in predicted)
    if measured is not None:
        wanted = np.exp(np.interp(measured[0], ages, np.log(steps)))
        ratios = np.asarray(measured[1]) / wanted
        return (
            "Staleness shrinks the stable step; measured is "
            f"{ratios.min():.2f} to {ratios.max():.2f} of predicted"
        )
    return (
        f"With gradients {ages[-1]:g} updates old the largest stable step is "
        f"{steps[0] / steps[-1]:.0f} times smaller"
    )


@in_style
def plot_ages(
    ages: Mapping[str, Sequence[int]], *, title: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the staleness histograms of some runs, each by its name."""
    ax = new_axes(9.0, 3.6) if ax is None else ax
    most = max(int(np.max(each)) for each in ages.values())
    width = max(1, -(-(most + 1) // 30))  # at most thirty bars
    edges = np.arange(0, most + width + 1, width)
    bar = width * 0.9 / len(ages)
    for number, (name, each) in enumerate(ages.items()):
        shares = np.histogram(each, edges)[0] / len(each)
        ax.bar(
            edges[:-1] - 0.5 + 0.05 * width + bar * number, shares, bar, align="edge",
            color=rank_colour(number), label=f"{name}: mean {np.mean(each):.1f}",
        )  # fmt: skip
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xlim(-0.6, edges[-1] - 0.4)
    ax.grid(True, axis="y")
    ax.set_xlabel("staleness (updates of others between reading and writing)")
    ax.set_ylabel("share of gradients")
    ax.legend()
    found = ages_finding(ages)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"How old gradients are, as histograms. {found}.")
    return ax.figure


def ages_finding(ages: Mapping[str, Sequence[int]]) -> str:
    """The oldest of each run."""
    listed = ", ".join(f"{name} {np.max(each)}" for name, each in ages.items())
    return f"The oldest gradients are so many updates old: {listed}"


@in_style
def plot_paces(
    ends: Mapping[str, Sequence[float]], *, title: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw when each step ended, for one worker of each of some runs, by the runs' names."""
    ax = new_axes(9.0, 4.2) if ax is None else ax
    factor, unit = time_unit(max(max(each) for each in ends.values()))
    for number, (name, each) in enumerate(ends.items()):
        steps, colour = np.arange(1, len(each) + 1), rank_colour(number)
        ax.plot(steps, np.multiply(each, factor), color=colour, label=name)
    ax.grid(True)
    ax.set_xlabel("step")
    ax.set_ylabel(f"time when it ended ({unit})")
    ax.legend()
    found = paces_finding(ends)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Time over steps. {found}.")
    return ax.figure


def paces_finding(ends: Mapping[str, Sequence[float]]) -> str:
    """The time of one step in the last quarter of each run."""
    late = {
        name: (each[-1] - each[-1 - len(each) // 4]) / (len(each) // 4)
        for name, each in ends.items()
    }
    listed = ", ".join(f"{name} {time_text(pace)}" for name, pace in late.items())
    return f"What a late step takes: {listed}"
