"""Searches in pictures: who is trained for how long, what waiting costs, what luck looks like.

A line is predicted, a hollow square simulated, a dot measured. What to look at: most curves that a
halving stops early would have stayed above the others; where run times are equal, waiting costs
nothing and the asynchronous search is the slower one; and the best of many equal runs is better
than the others only where it was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
    PercentFormatter,
)

from ddl_teach.plots.style import (
    ALGORITHM_COLOURS,
    INK,
    Points,
    describe,
    in_style,
    new_axes,
)

COLOURS = tuple(ALGORITHM_COLOURS.values())
STOPPED, CHOSEN = "#bbbbbb", COLOURS[1]


@in_style
def plot_curves(
    steps: Sequence[float],
    curves: np.ndarray,
    rungs: Sequence[Sequence[int]] | None = None,
    *,
    title: str | None = None,
) -> Figure:
    """Draw the loss of each trial, `curves[trial]`, after so many `steps` in all.

    With `rungs`, the trials of each rung: solid as far as they were trained, thin beyond that.
    """
    ax = new_axes(9.0, 4.2)
    trained = [len(curves[0])] * len(curves)
    if rungs is not None:
        trained = [sum(trial in rung for rung in rungs) for trial in range(len(curves))]
    for curve, reached in zip(curves, trained, strict=True):
        whole = reached == len(curve)
        if rungs is not None:
            ax.plot(steps, curve, ":", color=STOPPED, linewidth=0.8)
        style = {"color": CHOSEN if whole and rungs is not None else COLOURS[0]}
        style |= {"linewidth": 2.4 if whole and rungs is not None else 1.0}
        ax.plot(steps[:reached], curve[:reached], "o-", markersize=3, **style)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(steps, [f"{count:,}" for count in steps])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda loss, _: f"{loss:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(True)
    ax.set_xlabel("steps of training")
    ax.set_ylabel("loss on the validation part")
    found = curves_finding(steps, curves, trained)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"The losses of {len(curves)} trials over their steps. {found}.")
    return ax.figure


def curves_finding(steps: Sequence[float], curves: np.ndarray, trained: Sequence[int]) -> str:
    """Which part of the work was done, and how good the best is that was trained to the end."""
    done = sum(steps[reached - 1] for reached in trained)
    ends = [
        curve[-1] for curve, reached in zip(curves, trained, strict=True) if reached == len(steps)
    ]
    rank = int(np.sum(np.asarray(curves)[:, -1] < min(ends))) + 1
    whole = steps[-1] * len(curves)
    if done == whole:
        return f"{len(curves)} trials, {whole:,} steps: the best ends at {min(ends):.2g}"
    place = "the best of all" if rank == 1 else f"number {rank} of all"
    return f"{done / whole:.0%} of the steps find {place}"


@in_style
def plot_waiting(
    told: Mapping[str, Points],
    simulated: Mapping[str, Points],
    measured: Mapping[str, Points] | None = None,
    *,
    title: str | None = None,
) -> Figure:
    """Draw over the workers how many times as long searches take as if nobody ever waited.

    All by the names of the searches; a name that has no line is drawn without one.
    """
    ax = new_axes(9.0, 4.4)
    names = list(dict.fromkeys([*told, *simulated, *(measured or {})]))
    for place, name in enumerate(names):
        colour = COLOURS[place]
        if name in told:
            ax.plot(*told[name], color=colour)
        if name in simulated:
            ax.plot(*simulated[name], "s", color=colour, markerfacecolor="none")
        if measured and name in measured:
            ax.plot(*measured[name], "o", color=colour)
        ax.plot([], [], "-", color=colour, label=name)
    ax.plot([], [], "-", color=INK, label="formula")
    ax.plot([], [], "s", color=INK, markerfacecolor="none", label="simulated")
    if measured:
        ax.plot([], [], "o", color=INK, label="measured")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    ax.set_ylim(0, 1.4 * ax.get_ylim()[1])  # the legend needs room
    ax.grid(True)
    ax.set_xlabel("workers")
    ax.set_ylabel("times as long as without waiting")
    ax.legend(loc="upper left", ncols=2)
    found = waiting_finding(simulated)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"The time of searches over the number of workers. {found}.")
    return ax.figure


def waiting_finding(simulated: Mapping[str, Points]) -> str:
    """What each search takes at the largest number of workers."""
    most = max(max(points[0]) for points in simulated.values())
    ends = [
        f"{name.partition(',')[0]} takes {np.interp(most, *points):.2g}"
        for name, points in simulated.items()
        if max(points[0]) == most
    ]
    return f"{most:,} workers: {', '.join(ends)} times as long as without waiting"


@in_style
def plot_luck(
    chosen_on: Sequence[float], others: Sequence[float], *, title: str | None = None
) -> Figure:
    """Draw runs of the same settings: their errors where one is chosen, and on other data."""
    ax = new_axes(9.0, 3.4)
    rows = {"validation part": np.asarray(chosen_on), "test part": np.asarray(others)}
    best = int(np.argmin(chosen_on))
    spread = np.random.default_rng(0).uniform(-0.16, 0.16, len(chosen_on))  # to see equal ones
    for row, errors in enumerate(rows.values()):
        ax.plot(errors, row + spread, "o", color=COLOURS[0], alpha=0.6)
        ax.plot(2 * [np.median(errors)], [row - 0.3, row + 0.3], color=INK, linewidth=2.5)
        ax.plot(errors[best], row + spread[best], "o", color=CHOSEN, markersize=11)
    ax.plot([], [], "o", color=CHOSEN, markersize=11, label="the best on the validation part")
    ax.plot([], [], color=INK, linewidth=2.5, label="the middle of all")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(1.6, -0.6)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_xlabel("wrong answers")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    gains = [1 - errors[best] / np.median(errors) for errors in rows.values()]
    found = (
        f"The best of {len(chosen_on)} equal runs: {gains[0]:.0%} fewer errors where it was "
        f"chosen, {gains[1]:.0%} elsewhere"
    )
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Errors of runs that differ by their seed only. {found}.")
    return ax.figure
