"""Fewer bytes: what a gradient is made of, what training with less of it costs, when it pays.

What to look at: how few entries hold most of a gradient; lines of training that stay up where the
others come down; the bandwidth at which two lines of time cross; and how early the share of places
bends that hold something in a sum of sparse vectors, which above the dashed line is smaller dense.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.curves import NO_CURVES, Curves, draw_all
from ddl_class.plots.frame import extremes, finish, log_scale, note, write_numbers
from ddl_runtime.pictures.style import (
    INK,
    Look,
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
    write_numbers(ax.xaxis, "{:g}%".format)
    ax.set_ylim(0, 103)
    found = f"The largest {100 * share:g}% of the entries hold {100 * here:.0f}% of the gradient"
    about = "Share of the squared length over the share of entries"
    return finish(ax, about, found, x="entries, the largest first", y="of the squared length (%)")


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
    ends: dict[str, float] = {}
    for place, (name, losses) in enumerate(descents.items()):
        x = np.arange(1, len(losses) + 1) if across is None else np.asarray(across[name])
        calm = np.convolve(losses, np.ones(smooth) / smooth, "valid")
        x, ends[name] = x[smooth - 1 :], float(calm[-1])
        ax.plot(x, calm, color=rank_colour(place), label=name)
        note(ax, f"{calm[-1]:.2g}", (x[-1], calm[-1]), va="center", fontsize=10)
    log_scale(ax, "y")
    if across is not None:
        ax.set_xscale("log")
    best, worst = extremes(ends)
    found = f"In the end: {best} {ends[best]:.2g}, {worst} {ends[worst]:.2g}"
    lines = "; ".join(f"{name} ends at {loss:.3g}" for name, loss in ends.items())
    names: Look = {"x": unit, "y": of, "legend": {"loc": "best"}}
    return finish(ax, f"The {of} over {unit}", found, title, **names, more=f"{lines}.")


@in_style
def plot_bandwidths(
    predicted: Curves,
    simulated: Curves | None = None,
    measured: Curves | None = None,
    *,
    even: float,
    ax: Axes | None = None,
) -> Figure:
    """Seconds of an average over the bandwidth, by form; `even` is where compression stops paying.

    Lines are computed, hollow squares simulated, dots measured.
    """
    ax = new_axes(9.0, 4.2) if ax is None else ax
    grounds = {"computed": predicted, "simulated": simulated, "measured": measured}
    draw_all(ax, grounds, lambda _, place: rank_colour(2 * place))
    if 0 < even < np.inf:
        ax.axvline(even, color=INK, linewidth=1.0, linestyle="--")
    ax.set_xscale("log")
    write_numbers(ax.xaxis, rate_text)
    log_scale(ax, "y", time_text)
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top * (top / bottom) ** 0.2)
    found = f"Fewer bytes pay below {rate_text(even)}; above, packing takes longer than sending"
    if even == 0:
        found = "Fewer bytes do not pay at any bandwidth: none are saved"
    elif even == np.inf:
        found = "Fewer bytes pay at every bandwidth: packing costs nothing"
    about = "Seconds of an average over the bandwidth of links"
    names: Look = {"x": "bandwidth of a link", "y": "one average over all ranks"}
    return finish(ax, about, found, **names, legend={"loc": "upper center", "ncols": 2})


@in_style
def plot_fill_in(
    expected: Curves,
    found: Curves = NO_CURVES,
    *,
    dense_above: float = 0.5,
    how: str = "simulated",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw shares (0 to 1) over the number of ranks: lines, and squares, by name."""
    ax = new_axes(9.0, 4.0) if ax is None else ax
    ax.axhline(100 * dense_above, color=INK, linewidth=1.0, linestyle="--")
    place: Look = {"xycoords": ("axes fraction", "data")}
    note(ax, "above, the vector is smaller", (0.01, 100 * dense_above), (2, 4), **place)
    shown = {"expected": _in_percent(expected), "simulated": _in_percent(found)}
    draw_all(ax, shown, label={"expected": "{name}, expected", "simulated": f"{{name}}, {how}"})
    log_scale(ax, "x", base=2)
    ax.set_ylim(0, 103)
    said = "; ".join(
        f"{name}: {100 * shares[0]:.2g}% on {ranks[0]:g}, {100 * shares[-1]:.0f}% on {ranks[-1]:g}"
        for name, (ranks, shares) in expected.items()
    )
    return finish(
        ax,
        "Share of places that hold something over ranks",
        said,
        title,
        x="ranks whose vectors are added up",
        y="places of the sum that hold something (%)",
        legend={"loc": "upper left", "bbox_to_anchor": (0.0, 0.92)},
    )


def _in_percent(curves: Curves) -> Curves:
    return {name: (ranks, 100 * np.asarray(shares)) for name, (ranks, shares) in curves.items()}
