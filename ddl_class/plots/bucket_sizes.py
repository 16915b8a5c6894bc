"""The time of a backward pass with its all-reduces, over the size of the buckets.

A line is predicted, a hollow square simulated, a dot with a bar measured. The grey line is the
backward pass alone: nobody gets below it. What to look at: the valley between many small buckets,
each of which pays a latency, and a giant one, which leaves when nothing is left to hide behind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.curves import draw
from ddl_class.plots.frame import finish, scale_sizes_and_times
from ddl_runtime.pictures.style import (
    INK,
    Points,
    algorithm_colour,
    in_style,
    new_axes,
    size_text,
    time_text,
)

Measured = tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]


@in_style
def plot_bucket_sizes(
    predicted: Points,
    simulated: Points | None = None,
    measured: Measured | None = None,
    *,
    backward: float,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw seconds over bytes of a bucket; `measured` also has the low and high ends of bars."""
    ax = new_axes(9.0, 4.2) if ax is None else ax
    colour = algorithm_colour("ring")
    ax.axhline(backward, color="#999999", linewidth=1.2, label="backward pass alone")
    draw(ax, "predicted", predicted, colour, "predicted")
    if simulated:
        draw(ax, "simulated", simulated, colour, "simulated")
    if measured:
        sizes, middle, *interval = measured
        draw(ax, "measured", (sizes, middle, interval), INK, "measured")
    scale_sizes_and_times(ax, "bucket (bytes)", "backward pass and averaging")
    bottom, top = ax.get_ylim()
    ax.set_ylim(min(bottom, backward * 0.8), top * 1.6)
    found, above = _finding(predicted, measured), {"loc": "upper center", "ncols": 4}
    return finish(ax, "Time over the size of the buckets", found, title, legend=above)


def _finding(predicted: Points, measured: Measured | None) -> str:
    """Where the valley is, and what the two ends cost; or how good the prediction was."""
    sizes, times = (np.asarray(part, float) for part in predicted)
    best = int(np.argmin(times))
    if measured:
        fastest = measured[0][int(np.argmin(measured[1]))]
        ratio = float(np.median(np.asarray(measured[1]) / np.interp(measured[0], sizes, times)))
        return (
            f"Best measured: buckets of {size_text(fastest)}, predicted: {size_text(sizes[best])};"
            f" measured takes {ratio:.2g} times as long"
        )
    return (
        f"Best: buckets of {size_text(sizes[best])}, {time_text(times[best])}; "
        f"small ones take {times[0] / times[best]:.1f} times that, a giant one "
        f"{times[-1] / times[best]:.1f} times"
    )
