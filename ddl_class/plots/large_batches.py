"""Large batches: steps to a target over the batch, and speed-up over the ranks.

A line is predicted, a hollow square simulated, a dot measured. What to look at: the dashed
line is what one hopes for, half the steps for twice the batch; the horizontal one is the wall.
"""

from collections.abc import Mapping

import numpy as np

from ddl_class.plots.frame import BRIGHT, Plane, Series, counted, plane
from ddl_runtime.pictures.style import INK, Picture, Points

HOPE = "#999999"


def plot_steps(measured: Points, predicted: Points, *, fewest: float) -> Picture:
    """Draw steps to a target over the samples of a batch, both logarithmic."""
    ax = plane("samples in a batch", "steps to the target")
    batches, steps = (np.asarray(part, float) for part in measured)
    hoped = steps[0] * batches[0] / batches
    ax.plot(batches, hoped, "--", color=HOPE, linewidth=1.2, label="as many samples as before")
    _draw_wall(ax, fewest)
    ax.draw_curve("predicted", predicted, BRIGHT[0], "formula")
    ax.draw_curve("measured", measured, INK, "measured")
    ax.set_ylim(fewest * 0.5, steps.max() * 1.6)
    more, share = batches[-1] / batches[0], steps[-1] / steps[0]
    how = f"{1 / share:.2g} times fewer" if share < 1 else f"{share:.3g} times as many"
    takeaway = f"{more:.0f} times the batch: {how} steps"
    legend = {"loc": "upper right", "ncols": 2}
    return ax.finish("Steps to the target over the samples of a batch", takeaway, legend=legend)


def plot_speed_ups(
    throughput: Points,
    predicted: Points,
    simulated: Points | None = None,
    measured: Points | None = None,
    *,
    wall: float,
) -> Picture:
    """Draw over the ranks how many times as fast samples pass, and as soon the target is there."""
    ax = plane("ranks", "times one rank")
    ax.plot(*throughput, "--", color=HOPE, label="throughput")
    _draw_wall(ax, wall)
    ax.draw_curve("predicted", predicted, BRIGHT[0], "target: formula")
    ax.draw_curve("simulated", simulated, BRIGHT[0], "target: simulated")
    ax.draw_curve("measured", measured, INK, "target: measured")
    ranks = int(throughput[0][-1])
    takeaway = (
        f"{ranks:,} ranks: {throughput[1][-1]:.0f} times the throughput; by the formula, the "
        f"target {np.interp(ranks, *predicted):.2g} times as soon"
    )
    if measured:
        own, times = measured[0][-1], measured[1][-1]
        formula = np.interp(own, *predicted)
        takeaway = (
            f"{own} ranks of yours: the target {times:.2g} times as soon; by formula {formula:.2g}"
        )
    about = "Throughput and time to the target over ranks"
    return ax.finish(about, takeaway, legend={"loc": "upper left"})


def plot_losses(
    runs: Series, of: str = "of what was held out", *, target: float, title: str | None = None
) -> Picture:
    """Draw the losses of runs, by name, over the steps; what is no number is left out."""
    ax = plane("step of training", f"loss {of}", 3.8)
    ax.set_yscale("log")
    ax.draw_runs(runs, BRIGHT)
    ax.axhline(target, color=HOPE, linestyle=":", label="the target")
    ends = "; ".join(f"{name}: {losses[-1]:.2g}" for name, losses in runs.items())
    about, takeaway = "Losses over the steps of training", f"Loss at the end: {ends}"
    return ax.finish(about, takeaway, title, legend="beside")


def plot_descents(
    paths: Mapping[str, np.ndarray], eigenvalues: tuple[float, float], *, title: str | None = None
) -> Picture:
    """Draw ways down a bowl, by name: points (steps, 2) over its lines of equal loss."""
    ax = plane("first weight", "second weight")
    points = np.concatenate([np.zeros((1, 2)), *paths.values()])
    low, high = points.min(axis=0) - 0.15, points.max(axis=0) + 0.15
    x, y = np.meshgrid(*(np.linspace(*ends, 80) for ends in zip(low, high, strict=True)))
    loss = (eigenvalues[0] * x**2 + eigenvalues[1] * y**2) / 2
    levels = loss.max() * np.linspace(0.05, 1, 9) ** 2
    ax.contour(x, y, loss, levels=levels, colors="#dddddd", linewidths=0.8)
    ways = {name: tuple(np.asarray(path).T) for name, path in paths.items()}
    ax.draw_lines(ways, BRIGHT, marker="o", linewidth=1.2, markersize=3)
    ax.plot(0, 0, "+", color=INK, markersize=12)
    steps = counted(len(next(iter(paths.values()))) - 1, "step")
    ends = ", ".join(f"{name}: {np.linalg.norm(path[-1]):.2f}" for name, path in paths.items())
    takeaway = f"Distance from the bottom after {steps}: {ends}"
    about = "Ways down a bowl with noisy gradients"
    return ax.finish(about, takeaway, title, grid="", legend="beside")


def _draw_wall(ax: Plane, height: float) -> None:
    """What no batch gets past, and logarithmic axes."""
    ax.axhline(height, color="#ee6677", linestyle=":", label="the wall")
    ax.log_scale("x", base=2)
    ax.log_scale("y")
