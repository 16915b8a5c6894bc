"""What a message costs: the time of single messages over their size, and the line through them.

Every measurement is a faint dot, the median of a size a full one with its quartiles. The line is
``latency + nbytes * per_byte``, bent only by the logarithmic axes; its two parts stand dotted
beside it. They cross where a message is half latency and half bytes. What to look at: how long it
stays flat, and which dots lie above the line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.curves import draw
from ddl_class.plots.frame import BESIDE, finish, scale_sizes_and_times
from ddl_runtime.pictures.style import (
    INK,
    Points,
    in_style,
    new_axes,
    rate_text,
    size_text,
    time_text,
)

MEASURED, LINE, SIMULATED = "#4477aa", "#ee6677", INK
Interval = tuple[float, float]


@in_style
def plot_messages(
    nbytes: Sequence[float],
    seconds: Sequence[float],
    *,
    latency: float | None = None,
    per_byte: float | None = None,
    latency_interval: Interval | None = None,
    per_byte_interval: Interval | None = None,
    simulated: Points | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw measured one-way times, every repetition of them, and what was made of them.

    `latency` and `per_byte` are a fitted line, with the intervals of both; `simulated` are sizes
    and times of simulated ranks.
    """
    sizes, times = np.asarray(nbytes, float), np.asarray(seconds, float)
    if sizes.shape != times.shape or not sizes.size:
        raise ValueError(f"{sizes.size} sizes and {times.size} times: give one time for each size")
    if (latency is None) != (per_byte is None):
        raise ValueError("a line needs both latency and per_byte")
    sizes, times = sizes[sizes > 0], times[sizes > 0]  # a logarithmic axis has no place for 0
    ax = new_axes(9.0, 4.4) if ax is None else ax
    distinct = np.unique(sizes)
    low, middle, high = np.array(
        [np.quantile(times[sizes == size], [0.25, 0.5, 0.75]) for size in distinct]
    ).T
    medians = (distinct, middle, (low, high)) if len(sizes) > len(distinct) else (distinct, middle)
    if len(sizes) > len(distinct):
        ax.plot(sizes, times, ".", color=MEASURED, alpha=0.2, markersize=4, markeredgewidth=0)
    draw(ax, "measured", medians, MEASURED, "measured: median\nand quartiles", zorder=4)
    if simulated is not None:
        draw(ax, "simulated", simulated, SIMULATED, "simulated", markersize=9, zorder=3)
    found = f"A message takes {time_text(middle[0])} to {time_text(middle[-1])}"
    off = ""
    if latency is not None and per_byte is not None:
        words = _line_text(latency, per_byte, latency_interval, per_byte_interval)
        _draw_line(ax, distinct, latency, per_byte, words)
        ratios = middle / (latency + distinct * per_byte)
        off = f"They are {ratios.min():.2g} to {ratios.max():.2g} times the fitted line."
        found = _finding(latency, per_byte)
    scale_sizes_and_times(ax, "size of one message (bytes)", "time of one message")
    # Noise has no upper bound: what matters is where the medians and the line are.
    ax.set_ylim(min(times.min(), low.min()) / 1.5, max(np.quantile(times, 0.99), high.max()) * 2)
    listed = ", ".join(
        f"{size_text(distinct[place])} {time_text(middle[place])}"
        for place in np.unique(np.linspace(0, len(distinct) - 1, 5).round().astype(int))
    )
    more = f"Medians of what was measured: {listed}. {off}"
    legend = {**BESIDE, "labelspacing": 1.0}
    return finish(ax, "Time of one message over its size", found, title, legend=legend, more=more)


def _finding(latency: float, per_byte: float) -> str:
    """What a fitted line says, in one line."""
    if latency <= 0 or per_byte <= 0:
        what, value = ("latency", latency) if latency <= 0 else ("time per byte", per_byte)
        return f"This line cannot be: its {what} is {value:.2g} s"
    costs = f"A message costs {time_text(latency)} and {time_text(per_byte)} a byte"
    return f"{costs}: latency rules below {size_text(latency / per_byte)}"


def _draw_line(ax: Axes, sizes: np.ndarray, latency: float, per_byte: float, label: str) -> None:
    fine = np.geomspace(sizes[0], sizes[-1], 200)
    both = latency + fine * per_byte
    ax.plot(fine[both > 0], both[both > 0], color=LINE, label=label, zorder=2)
    for part in (np.full_like(fine, latency), fine * per_byte):
        if (part > 0).all():
            ax.plot(fine, part, ":", color=LINE, linewidth=1.2)


def _line_text(
    latency: float,
    per_byte: float,
    latency_interval: Interval | None,
    per_byte_interval: Interval | None,
) -> str:
    """The line's two numbers, with what is known of their errors."""
    lines = ["latency + bytes / bandwidth", f"latency {time_text(latency)}"]
    if latency_interval is not None:
        lines.append(f"   ({' to '.join(map(time_text, latency_interval))})")
    if per_byte > 0:
        lines.append(f"bandwidth {rate_text(1 / per_byte)}")
        if per_byte_interval is not None and min(per_byte_interval) > 0:
            rates = [rate_text(1 / edge) for edge in reversed(per_byte_interval)]
            lines.append(f"   ({' to '.join(rates)})")
    return "\n".join(lines)
