"""Searches in pictures: who is trained for how long, what waiting costs, what luck looks like.

A line is predicted, a hollow square simulated, a dot measured. What to look at: most curves that a
halving stops early would have stayed above the others; where run times are equal, waiting costs
nothing and the asynchronous search is the slower one; and the best of many equal runs is better
than the others only where it was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.curves import BRIGHT, Curves, bright, draw_all, explain
from ddl_class.plots.frame import count, finish, log_scale
from ddl_runtime.pictures.style import INK, Look, in_style, new_axes

STOPPED, CHOSEN = "#bbbbbb", BRIGHT[1]


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
    trained = [len(steps)] * len(curves)
    if rungs is not None:
        trained = [sum(trial in rung for rung in rungs) for trial in range(len(curves))]
    for curve, reached in zip(curves, trained, strict=True):
        if rungs is not None:
            ax.plot(steps, curve, ":", color=STOPPED, linewidth=0.8)
        chosen = rungs is not None and reached == len(steps)
        colour, width = (CHOSEN, 2.4) if chosen else (BRIGHT[0], 1.0)
        look: Look = {"color": colour, "linewidth": width, "markersize": 3}
        ax.plot(steps[:reached], curve[:reached], "o-", **look)
    log_scale(ax, "x", count, at=steps)
    log_scale(ax, "y")
    found = _best_of_the_trained(steps, np.asarray(curves), trained)
    about = f"The losses of {len(curves)} trials over their steps"
    return finish(ax, about, found, title, x="steps of training", y="loss on the validation part")


def _best_of_the_trained(
    steps: Sequence[float], curves: np.ndarray, trained: Sequence[int]
) -> str:
    """Which part of the work was done, and how good the best is that was trained to the end."""
    done, whole = sum(steps[reached - 1] for reached in trained), steps[-1] * len(curves)
    best = curves[np.array(trained) == len(steps), -1].min()
    if done == whole:
        return f"{len(curves)} trials, {whole:,} steps: the best ends at {best:.2g}"
    rank = int(np.sum(curves[:, -1] < best)) + 1
    place = "the best of all" if rank == 1 else f"number {rank} of all"
    return f"{done / whole:.0%} of the steps find {place}"


@in_style
def plot_waiting(
    told: Curves, simulated: Curves, measured: Curves | None = None, *, title: str | None = None
) -> Figure:
    """Draw over the workers how many times as long searches take as if nobody ever waited.

    All by the names of the searches; a name that has no line is drawn without one.
    """
    ax = new_axes(9.0, 4.4)
    grounds = {"formula": told, "simulated": simulated}
    grounds |= {"measured": measured} if measured else {}
    colours = draw_all(ax, grounds, bright, label="")
    explain(ax, colours, grounds, loc="upper left", ncols=2)
    log_scale(ax, "x", count, base=2)
    ax.set_ylim(0, 1.4 * ax.get_ylim()[1])  # the legend needs room
    most = max(max(points[0]) for points in simulated.values())
    ends = ", ".join(
        f"{name.partition(',')[0]} takes {np.interp(most, *points):.2g}"
        for name, points in simulated.items()
        if max(points[0]) == most
    )
    found = f"{most:,} workers: {ends} times as long as without waiting"
    about = "The time of searches over the number of workers"
    return finish(ax, about, found, title, x="workers", y="times as long as without waiting")


@in_style
def plot_luck(
    chosen_on: Sequence[float], others: Sequence[float], *, title: str | None = None
) -> Figure:
    """Draw runs of the same settings: their errors where one is chosen, and on other data."""
    ax = new_axes(9.0, 3.4)
    rows = {"validation part": np.asarray(chosen_on), "test part": np.asarray(others)}
    best = int(np.argmin(chosen_on))
    spread = np.random.default_rng(0).uniform(-0.16, 0.16, len(chosen_on))  # to see equal ones
    middle: Look = {"color": INK, "linewidth": 2.5, "label": "the middle of all"}
    chosen: Look = {"color": CHOSEN, "markersize": 11, "label": "the best on the validation part"}
    for row, errors in enumerate(rows.values()):
        ax.plot(errors, row + spread, "o", color=BRIGHT[0], alpha=0.6)
        median = ax.plot([np.median(errors)] * 2, [row - 0.3, row + 0.3], **middle)
        dot = ax.plot(errors[best], row + spread[best], "o", **chosen)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(1.6, -0.6)
    ax.xaxis.set_major_formatter("{x:.0%}")
    below: Look = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22), "ncols": 2}
    here, elsewhere = (1 - errors[best] / np.median(errors) for errors in rows.values())
    found = (
        f"The best of {len(chosen_on)} equal runs: {here:.0%} fewer errors where it was chosen, "
        f"{elsewhere:.0%} elsewhere"
    )
    about, legend = (
        "Errors of runs that differ by their seed only",
        {**below, "handles": [*dot, *median]},
    )
    return finish(ax, about, found, title, x="wrong answers", grid="", legend=legend)
