"""Time over processors between its two bounds, and the layers of a network by work and depth.

No schedule is faster than max(W / p, D), no greedy one slower than (W - D) / p + D. Both lines
fall with the processors and then lie flat on the depth; they bend at the average parallelism W /
D. What to look at: how narrow the room between them is, on both sides of the bend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ddl_class.plots.curves import draw
from ddl_class.plots.frame import BESIDE, count, count_in_short, finish, log_scale, note
from ddl_class.plots.prediction import amount
from ddl_runtime.pictures.style import INK, Look, in_style, new_axes, rank_colour, time_text

BETWEEN, SIMULATED, MEASURED = "#e8eef5", INK, "#ee6677"
BOUND = "#4477aa"


@in_style
def plot_bounds(
    work: float,
    depth: float,
    simulated: Mapping[int, float],
    *,
    measured: Mapping[int, float] | None = None,
    unit: str = "steps",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw times by numbers of processors, simulated and measured, between both bounds.

    `unit` is "steps", or "s" where work, depth and times are in seconds.
    """
    if not 0 < depth <= work:
        raise ValueError(f"depth={depth} and work={work}: a chain is a part of the work, above 0")
    times = {**(measured or {}), **simulated}
    if not times:
        raise ValueError("nothing to draw: give a time for at least one number of processors")
    in_seconds = unit == "s"
    text = time_text if in_seconds else (lambda time: f"{amount(time)} {unit}")
    ax = new_axes(9.0, 4.6) if ax is None else ax
    crew = np.geomspace(1, max(2, *times), 300)
    low, high = np.maximum(work / crew, depth), (work - depth) / crew + depth
    ax.fill_between(crew, low, high, color=BETWEEN, zorder=0)
    ax.plot(crew, high, color=BOUND, linestyle="--", label="no greedy schedule\nis above")
    ax.plot(crew, low, color=BOUND, label="no schedule is below")
    said = [f"Work {text(work)}, longest chain {text(depth)}."]
    for ground, given, colour, label, size in (
        ("simulated", simulated, SIMULATED, "simulated, greedy", 9),
        ("measured", measured, MEASURED, "measured", 6),
    ):
        if given:
            points = sorted(given.items())
            curve = list(zip(*points, strict=True))
            draw(ax, ground, curve, colour, label, markersize=size, zorder=4)
            listed = ", ".join(f"{text(time)} on {many:,}" for many, time in points)
            said.append(f"{ground.capitalize()}: {listed}.")
    bend, most = work / depth, max(times)
    if bend <= crew[-1]:
        ax.axvline(bend, color=INK, linewidth=1.0, linestyle=":")
        words, top = f"work / depth\n= {amount(bend)}", (bend, high.max() * 1.3)
        note(ax, words, top, (4, -2), va="top", fontsize=8.5)
    log_scale(ax, "x", count, base=2)
    ax.xaxis.set_major_locator(LogLocator(base=4.0, numticks=20))
    few = high.max() < 300 * low.min()
    scale = time_text if in_seconds else count_in_short
    log_scale(ax, "y", scale, subs=(1.0, 2.0, 5.0) if few else (1.0,))
    ax.set_ylim(low.min() / 1.5, max(high.max(), *times.values()) * 1.5)
    gained = f"{most:,} processors are {amount(work / times[most])} times as fast as one"
    found = f"{gained}, with work for {amount(bend)}" if most > bend else gained
    names: Look = {"x": "processors", "y": "time" if in_seconds else f"time ({unit})"}
    look: Look = {"legend": {**BESIDE, "labelspacing": 1.0}, "more": " ".join(said)}
    return finish(ax, "Time over processors", found, title, **names, **look)


@in_style
def plot_layers(
    names: Sequence[str],
    work: Sequence[float],
    depth: Sequence[float],
    *,
    kinds: Sequence[str] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw layers by work and depth; along a diagonal the average parallelism is the same.

    `kinds` colours them; the names of the layers of least and most work stand beside them.
    """
    if not len(names) == len(work) == len(depth) or not len(names):
        raise ValueError(
            f"{len(names)} names, {len(work)} works and {len(depth)} depths: give one of each for "
            "every layer, and at least one layer"
        )
    across, upwards = np.asarray(depth, float), np.asarray(work, float)
    if min(across.min(), upwards.min()) < 1:
        raise ValueError("layers without an operation have no place here: leave them out")
    ax = new_axes(9.0, 4.8) if ax is None else ax
    groups = np.asarray(["layers"] * len(names) if kinds is None else list(kinds))
    for place, kind in enumerate(dict.fromkeys(groups)):
        chosen = groups == kind
        look: Look = {"markersize": 7, "alpha": 0.85, "zorder": 3, "label": kind}
        ax.plot(across[chosen], upwards[chosen], "o", color=rank_colour(place), **look)
    log_scale(ax, "x", count_in_short)
    log_scale(ax, "y", count_in_short, subs=(1.0,))
    ax.set_xlim(across.min() / 2, across.max() * 3)
    ax.set_ylim(upwards.min() / 4, upwards.max() * 8)
    _draw_diagonals(ax)
    for one, above in ((int(upwards.argmax()), 7), (int(upwards.argmin()), -14)):
        note(ax, names[one], (across[one], upwards[one]), (6, above), fontsize=8.5)
    found = f"Work differs {_times(upwards)}-fold from layer to layer, depth {_times(across)}-fold"
    ratio = upwards / across
    more = (
        f"Depth {across.min():,.0f} to {across.max():,.0f}, work {upwards.min():.3g} to "
        f"{upwards.max():.3g}, average parallelism {ratio.min():,.3g} to {ratio.max():,.3g}."
    )
    legend = None if kinds is None else BESIDE
    axes: Look = {"x": "depth (steps)", "y": "work (operations)", "grid": "", "legend": legend}
    return finish(ax, "Layers by depth and work", found, title, **axes, more=more)


def _draw_diagonals(ax: Axes) -> None:
    """Lines of one parallelism each, a factor of a thousand apart, named where they leave."""
    reach, (bottom, top) = np.array(ax.get_xlim()), ax.get_ylim()
    low, high = np.log10(bottom / reach[1]), np.log10(top / reach[0])
    for power in range(3 * int(np.ceil(low / 3)), int(high) + 1, 3):
        ax.plot(reach, 10.0**power * reach, ":", color="#9a9a9a", linewidth=1.0, zorder=1)
        leaves = min(reach[1], top / 10.0**power)
        if bottom < 10.0**power * leaves and leaves > 1.2 * reach[0]:
            look: Look = {"fontsize": 8, "color": "#666666", "ha": "right", "va": "top"}
            words = f"{count_in_short(10.0**power)} at once "
            ax.text(leaves, 10.0**power * leaves / 1.3, words, **look)


def _times(numbers: np.ndarray) -> str:
    ratio = numbers.max() / numbers.min()
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
