"""Fewer bytes: what a gradient is made of, what training with less of it costs, when it pays.

What to look at: how few entries hold most of a gradient; lines of training that stay up where the
others come down; and the bandwidth at which two lines of time cross.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.style import (
    INK,
    Points,
    describe,
    in_style,
    new_axes,
    rank_colour,
    rate_text,
    time_text,
)


@in_style
def plot_kept(vector: np.ndarray, *, share: float = 0.01, ax: Axes | None = None) -> Figure:
    """How much of a vector's squared length its largest entries hold."""
    ax = new_axes(9.0, 3.6) if ax is None else ax
    squares = np.sort(np.square(np.asarray(vector, float)))[::-1]
    held = np.cumsum(squares) / squares.sum()
    shares = np.arange(1, len(held) + 1) / len(held)
    here = held[max(0, round(share * len(held)) - 1)]
    ax.plot(100 * shares, 100 * held, color=rank_colour(0))
    ax.plot(100 * shares, 100 * shares, color="#999999", linewidth=1.2)
    ax.annotate("if all were alike", (60, 60), (62, 48), color="#666666")
    ax.plot(100 * share, 100 * here, "o", color=INK)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    ax.set_xlabel("entries, the largest first")
    ax.set_ylabel("of the squared length (%)")
    ax.set_ylim(0, 103)
    ax.grid(True)
    found = f"The largest {100 * share:g}% of the entries hold {100 * here:.0f}% of the gradient"
    ax.set_title(found)
    describe(ax.figure, f"Share of the squared length over the share of entries. {found}.")
    return ax.figure


@in_style
def plot_descents(
    descents: Mapping[str, Sequence[float]],
    title: str | None = None,
    *,
    across: Mapping[str, Sequence[float]] | None = None,
    unit: str = "step",
    of: str = "loss on data held out",
    smooth: int = 1,
    ax: Axes | None = None,
) -> Figure:
    """A loss over steps, or over what else is given as `across`: one line a form.

    Shown is the mean of the last `smooth` steps.
    """
    ax = new_axes(9.0, 4.2) if ax is None else ax
    ends = {}
    for place, (name, losses) in enumerate(descents.items()):
        x = np.arange(1, len(losses) + 1) if across is None else np.asarray(across[name])
        calm = np.convolve(losses, np.ones(smooth) / smooth, "valid")
        x, ends[name], colour = x[smooth - 1 :], calm[-1], rank_colour(place)
        ax.plot(x, calm, color=colour, label=name)
        ax.annotate(
            f"{calm[-1]:.2g}", (x[-1], calm[-1]), (4, 0), textcoords="offset points",
            color=INK, va="center",
        )  # fmt: skip
    ax.set_yscale("log")
    in_plain_numbers(ax.yaxis, lambda loss, _: f"{loss:g}")
    if across is not None:
        ax.set_xscale("log")
    ax.set_xlabel(unit)
    ax.set_ylabel(of)
    ax.grid(True)
    ax.legend(loc="best")
    best, worst = min(ends, key=ends.get), max(ends, key=ends.get)
    found = f"In the end: {best} {ends[best]:.2g}, {worst} {ends[worst]:.2g}"
    ax.set_title(found if title is None else title)
    lines = "; ".join(f"{name} ends at {loss:.3g}" for name, loss in ends.items())
    describe(ax.figure, f"The {of} over {unit}: {lines}.")
    return ax.figure


def in_plain_numbers(axis: Axis, text: Callable[[float, int], str]) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5, written out."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(text))
    axis.set_minor_formatter(NullFormatter())


@in_style
def plot_bandwidths(
    predicted: Mapping[str, Points],
    simulated: Mapping[str, Points] | None = None,
    measured: Mapping[str, Points] | None = None,
    *,
    even: float,
    ax: Axes | None = None,
) -> Figure:
    """Seconds of an average over the bandwidth, by form; `even` is where compression stops paying.

    Lines are computed, hollow squares simulated, dots measured.
    """
    ax = new_axes(9.0, 4.2) if ax is None else ax
    looks = ((simulated, "s", "none", "simulated"), (measured, "o", None, "measured"))
    for place, (name, points) in enumerate(predicted.items()):
        colour = rank_colour(2 * place)
        ax.plot(*points, color=colour, label=f"{name}, computed")
        for found, marker, face, how in looks:
            if found and name in found:
                ax.plot(
                    *found[name], marker, color=colour, markerfacecolor=face or colour,
                    label=f"{name}, {how}",
                )  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    if 0 < even < np.inf:
        ax.axvline(even, color=INK, linewidth=1.0, linestyle="--")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: rate_text(rate)))
    in_plain_numbers(ax.yaxis, lambda seconds, _: time_text(seconds))
    ax.set_xlabel("bandwidth of a link")
    ax.set_ylabel("one average over all ranks")
    ax.grid(True)
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top * (top / bottom) ** 0.2)
    ax.legend(loc="upper center", ncols=2)
    found = pays(even)
    ax.set_title(found)
    describe(ax.figure, f"Seconds of an average over the bandwidth of links. {found}.")
    return ax.figure


def pays(even: float) -> str:
    """Where compression wins, in words."""
    if even == 0:
        return "Fewer bytes do not pay at any bandwidth: none are saved"
    if even == np.inf:
        return "Fewer bytes pay at every bandwidth: packing costs nothing"
    return f"Fewer bytes pay below {rate_text(even)}; above, packing takes longer than sending"
