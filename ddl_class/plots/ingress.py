"""Bytes that come in at the busiest port in one step, over the number of workers.

A line is predicted, a hollow square simulated, a dot measured; each path has a colour. What to
look at: who grows with the workers, and who does not.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ddl_class.plots.curves import NO_CURVES, Curves, draw_all
from ddl_class.plots.frame import extremes, finish, log_scale, note
from ddl_runtime.pictures.style import in_style, new_axes, size_text


@in_style
def plot_ingress(
    predicted: Curves,
    simulated: Curves = NO_CURVES,
    measured: Curves = NO_CURVES,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw bytes over workers, for each path by its name; the last point of a line says it."""
    ax = new_axes(9.0, 4.4) if ax is None else ax
    grounds = {"predicted": predicted, "simulated": simulated, "measured": measured}
    draw_all(ax, grounds, label="")
    log_scale(ax, "x", base=2)
    log_scale(ax, "y", size_text, base=2)
    ax.yaxis.set_major_locator(LogLocator(base=8.0))
    for name, (workers, nbytes) in predicted.items():
        note(ax, f"  {name}", (workers[-1], nbytes[-1]), (0, 0), va="center", fontsize=10)
    left, right = ax.get_xlim()
    ax.set_xlim(left, right * 4)  # room for the names
    grown = {name: np.max(nbytes) / np.min(nbytes) for name, (_, nbytes) in predicted.items()}
    least, most = extremes(grown)
    workers = predicted[most][0]
    found = (
        f"From {min(workers):g} to {max(workers):g} workers: {most} takes in {grown[most]:.3g} "
        f"times as much, {least} {grown[least]:.2g} times"
    )
    about = "Bytes that come in at the busiest port over workers"
    grounds_in_words = "workers   (line: predicted, square: simulated, dot: measured)"
    return finish(ax, about, found, title, x=grounds_in_words, y="bytes in, at the busiest port")
