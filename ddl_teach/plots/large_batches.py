"""Large batches: steps to a target over the batch, and speed-up over the ranks.

A line is predicted, a hollow square simulated, a dot measured. What to look at: the dashed
line is what one hopes for, half the steps for twice the batch; the horizontal one is the wall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.style import ALGORITHM_COLOURS, INK, Points, describe, in_style, new_axes

COLOURS = tuple(ALGORITHM_COLOURS.values())
HOPE, WALL = "#999999", "#ee6677"


@in_style
def plot_steps(
    measured: Points,
    predicted: Points,
    *,
    fewest: float,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw steps to a target over the samples of a batch, both logarithmic."""
    ax = new_axes(9.0, 4.2) if ax is None else ax
    batches, steps = (np.asarray(part, float) for part in measured)
    hoped = steps[0] * batches[0] / batches
    ax.plot(batches, hoped, "--", color=HOPE, linewidth=1.2, label="as many samples as before")
    ax.axhline(fewest, color=WALL, linestyle=":", label="the wall")
    ax.plot(*predicted, color=COLOURS[0], label="formula")
    ax.plot(batches, steps, "o", color=INK, label="measured")
    _scale(ax)
    ax.set_ylim(fewest * 0.5, steps.max() * 1.6)
    ax.set_xlabel("samples in a batch")
    ax.set_ylabel("steps to the target")
    ax.legend(loc="upper right", ncols=2)
    found = (
        f"{batches[-1] / batches[0]:.0f} times the batch: {steps[0] / steps[-1]:.2g} times fewer "
        "steps"
    )
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Steps to the target over the samples of a batch. {found}.")
    return ax.figure


@in_style
def plot_speed_ups(
    throughput: Points,
    predicted: Points,
    simulated: Points | None = None,
    measured: Points | None = None,
    *,
    wall: float,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw over the ranks how many times as fast samples pass, and as soon the target is there."""
    ax = new_axes(9.0, 4.2) if ax is None else ax
    ax.plot(*throughput, "--", color=HOPE, label="throughput")
    ax.axhline(wall, color=WALL, linestyle=":", label="the wall")
    ax.plot(*predicted, color=COLOURS[0], label="target: formula")
    if simulated:
        style = {"color": COLOURS[0], "markerfacecolor": "none"}
        ax.plot(*simulated, "s", **style, label="target: simulated")
    if measured:
        ax.plot(*measured, "o", color=INK, label="target: measured")
    _scale(ax)
    ax.set_xlabel("ranks")
    ax.set_ylabel("times one rank")
    ax.legend(loc="upper left")
    ranks = int(throughput[0][-1])
    found = (
        f"{ranks:,} ranks: {throughput[1][-1]:.0f} times the throughput, there "
        f"{np.interp(ranks, *predicted):.2g} times as soon"
    )
    if measured:
        own, times = measured[0][-1], measured[1][-1]
        told = np.interp(own, *predicted)
        found = f"{own} ranks of yours: there {times:.2g} times as soon; by the formula {told:.2g}"
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Throughput and time to the target over ranks. {found}.")
    return ax.figure


@in_style
def plot_losses(
    runs: Mapping[str, Sequence[float]], *, target: float | None = None, title: str | None = None
) -> Figure:
    """Draw the losses of runs, by name, over the steps; what is no number is left out."""
    ax = new_axes(9.0, 3.8)
    for place, (name, losses) in enumerate(runs.items()):
        ax.semilogy(np.arange(len(losses)), losses, color=COLOURS[place], label=name)
    if target is not None:
        ax.axhline(target, color=HOPE, linestyle=":", label="the target")
    ax.grid(True)
    ax.set_xlabel("step of training")
    ax.set_ylabel("loss of what was held out")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    found = "Loss at the end: " + "; ".join(
        f"{name} {losses[-1]:.2g}" for name, losses in runs.items()
    )
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Losses over the steps of training. {found}.")
    return ax.figure


@in_style
def plot_descents(
    paths: Mapping[str, np.ndarray], eigenvalues: tuple[float, float], *, title: str | None = None
) -> Figure:
    """Draw ways down a bowl, by name: points (steps, 2) over its lines of equal loss."""
    ax = new_axes(9.0, 4.2)
    ends = np.concatenate([np.zeros((1, 2)), *paths.values()])
    low, high = ends.min(axis=0) - 0.15, ends.max(axis=0) + 0.15
    x, y = np.meshgrid(np.linspace(low[0], high[0], 80), np.linspace(low[1], high[1], 80))
    loss = (eigenvalues[0] * x**2 + eigenvalues[1] * y**2) / 2
    levels = loss.max() * np.linspace(0.05, 1, 9) ** 2
    ax.contour(x, y, loss, levels=levels, colors="#dddddd", linewidths=0.8)
    for place, (name, points) in enumerate(paths.items()):
        style = {"color": COLOURS[place], "linewidth": 1.2, "markersize": 3}
        ax.plot(*np.asarray(points).T, "o-", **style, label=name)
    ax.plot(0, 0, "+", color=INK, markersize=12)
    ax.set_xlabel("first weight")
    ax.set_ylabel("second weight")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    steps = len(next(iter(paths.values()))) - 1
    distances = ", ".join(
        f"{name} {np.linalg.norm(points[-1]):.2f}" for name, points in paths.items()
    )
    found = f"Distance from the bottom after {steps} steps: {distances}"
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Ways down a bowl with noisy gradients. {found}.")
    return ax.figure


def _scale(ax: Axes) -> None:
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(True)
