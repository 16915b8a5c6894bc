"""How long a pass over layers and steps takes, over the number of steps in one message.

Short messages cost their overhead more often, long ones keep the ranks above waiting: between
them lies the best. The line is predicted, hollow squares simulated, dots measured with their
interval. What to look at: where the valley is, and whether all three agree on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ddl_teach.plots.style import INK, describe, in_style, new_axes, time_text

PREDICTED, MEASURED = "#ee6677", "#4477aa"
Times = tuple[Sequence[float], Sequence[float]]


@in_style
def plot_chunks(
    predicted: Times,
    simulated: Times,
    measured: Times,
    intervals: tuple[Sequence[float], Sequence[float]] | None = None,
    *,
    alone: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw seconds over steps in a message; each is (chunks, seconds). `intervals` are the lows
    and highs of what was measured, `alone` the seconds of one rank that does everything."""
    ax = new_axes(9.0, 4.2)
    ax.set_xscale("log", base=2)
    ax.plot(*predicted, color=PREDICTED, label="predicted")
    look = {"color": INK, "markerfacecolor": "none", "markersize": 9}
    ax.plot(*simulated, "s", label="simulated", **look)
    ax.plot(*measured, "o", color=MEASURED, label="measured: median\nand interval")
    if intervals is not None:
        ax.vlines(measured[0], *intervals, color=MEASURED, linewidth=3, alpha=0.5)
    if alone is not None:
        ax.axhline(alone, color=INK, linestyle=":", label="one rank alone")
    ax.set_ylim(bottom=0)
    ax.set_xticks(measured[0], [str(chunk) for chunk in measured[0]])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: time_text(seconds)))
    ax.grid(True, axis="y")
    ax.set_xlabel("steps in one message")
    ax.set_ylabel("time of one pass")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    found = finding(predicted, measured)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Time of a pass over steps in a message. {found}.")
    return ax.figure


def finding(predicted: Times, measured: Times) -> str:
    """Where the valley is, by both."""
    best, found = (curve[0][int(np.argmin(curve[1]))] for curve in (predicted, measured))
    if best == found:
        return f"Best are {best} steps in a message: so it was predicted and measured"
    return f"Best are {found} steps in a message; {best} were predicted"
