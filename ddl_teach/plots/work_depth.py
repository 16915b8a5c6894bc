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
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.prediction import amount
from ddl_teach.plots.style import INK, describe, in_style, new_axes, rank_colour, time_text

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
    every = {**(measured or {}), **simulated}
    if not every:
        raise ValueError("nothing to draw: give a time for at least one number of processors")
    ax = new_axes(9.0, 4.6) if ax is None else ax
    crew = np.geomspace(1, max(2, *every), 300)
    low, high = np.maximum(work / crew, depth), (work - depth) / crew + depth
    ax.fill_between(crew, low, high, color=BETWEEN, zorder=0)
    ax.plot(crew, high, color=BOUND, linestyle="--", label="no greedy schedule\nis above")
    ax.plot(crew, low, color=BOUND, label="no schedule is below")
    look = {"markerfacecolor": "none", "markersize": 9, "zorder": 4}
    if simulated:
        ax.plot(*_points(simulated), "s", color=SIMULATED, label="simulated, greedy", **look)
    if measured:
        ax.plot(*_points(measured), "o", color=MEASURED, label="measured", zorder=5)
    bend = work / depth
    if bend <= crew[-1]:
        ax.axvline(bend, color=INK, linewidth=1.0, linestyle=":")
        place = {"xytext": (4, -2), "textcoords": "offset points", "va": "top"}
        words = f"work / depth\n= {amount(bend)}"
        ax.annotate(words, (bend, high.max() * 1.3), fontsize=8.5, **place)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_ylim(low.min() / 1.5, max(high.max(), *every.values()) * 1.5)
    _count_axis(ax.xaxis)
    text = time_text if unit == "s" else _count_text
    few = high.max() < 300 * low.min()
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda time, _: text(time)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(True)
    ax.set_xlabel("processors")
    ax.set_ylabel("time" if unit == "s" else f"time ({unit})")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, labelspacing=1.0)
    found = finding(work, depth, every, unit)
    ax.set_title(found if title is None else title)
    describe(ax.figure, in_words(work, depth, simulated, measured or {}, found, unit))
    return ax.figure


def finding(work: float, depth: float, times: Mapping[int, float], unit: str) -> str:
    """What the largest number of processors gains, in one line."""
    most = max(times)
    gained, parallelism = work / times[most], work / depth
    crew = f"{most:,} processors are {amount(gained)} times as fast as one"
    return f"{crew}, with work for {amount(parallelism)}" if most > parallelism else crew


def in_words(
    work: float,
    depth: float,
    simulated: Mapping[int, float],
    measured: Mapping[int, float],
    found: str,
    unit: str,
) -> str:
    """The picture for those who cannot see it."""
    text = time_text if unit == "s" else lambda time: f"{amount(time)} {unit}"
    parts = [f"Time over processors. {found}. Work {text(work)}, longest chain {text(depth)}."]
    for name, times in (("Simulated", simulated), ("Measured", measured)):
        if times:
            listed = ", ".join(f"{text(times[crew])} on {crew:,}" for crew in sorted(times))
            parts.append(f"{name}: {listed}.")
    return " ".join(parts)


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
        look = {"markersize": 7, "alpha": 0.85, "color": rank_colour(place), "zorder": 3}
        ax.plot(across[chosen], upwards[chosen], "o", label=kind, **look)
    ax.set_xscale("log")
    ax.set_yscale("log")
    reach = np.array([across.min() / 2, across.max() * 3])
    bottom, top = upwards.min() / 4, upwards.max() * 8
    ax.set_xlim(*reach)
    ax.set_ylim(bottom, top)
    _draw_diagonals(ax, reach, bottom, top)
    for one, above in ((int(upwards.argmax()), 7), (int(upwards.argmin()), -14)):
        place = {"xytext": (6, above), "textcoords": "offset points", "fontsize": 8.5}
        ax.annotate(names[one], (across[one], upwards[one]), **place)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda number, _: _count_text(number)))
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("depth (steps)")
    ax.set_ylabel("work (operations)")
    if kinds is not None:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    found = f"Work differs {_times(upwards)}-fold from layer to layer, depth {_times(across)}-fold"
    ax.set_title(found if title is None else title)
    ratio = upwards / across
    words = (
        f"Layers by depth and work. {found}. Depth {across.min():,.0f} to {across.max():,.0f}, "
        f"work {upwards.min():.3g} to {upwards.max():.3g}, average parallelism {ratio.min():,.3g} "
        f"to {ratio.max():,.3g}."
    )
    describe(ax.figure, words)
    return ax.figure


def _draw_diagonals(ax: Axes, reach: np.ndarray, bottom: float, top: float) -> None:
    """Lines of one parallelism each, a factor of a thousand apart, named where they leave."""
    low, high = np.log10(bottom / reach[1]), np.log10(top / reach[0])
    for power in range(3 * int(np.ceil(low / 3)), int(high) + 1, 3):
        line = 10.0**power * reach
        ax.plot(reach, line, ":", color="#9a9a9a", linewidth=1.0, zorder=1)
        leaves = min(reach[1], top / 10.0**power)
        if bottom < 10.0**power * leaves and leaves > 1.2 * reach[0]:
            look = {"fontsize": 8, "color": "#666666", "ha": "right", "va": "top"}
            words = f"{_count_text(10.0**power)} at once "
            ax.text(leaves, 10.0**power * leaves / 1.3, words, **look)


def _points(times: Mapping[int, float]) -> tuple[list[int], list[float]]:
    crew = sorted(times)
    return crew, [times[number] for number in crew]


def _count_axis(axis: object) -> None:
    axis.set_major_locator(LogLocator(base=4.0, numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    axis.set_minor_formatter(NullFormatter())


def _count_text(number: float) -> str:
    """A count in short: 2.5 k, 130 M.

    >>> _count_text(130_000_000), _count_text(20)
    ('130 M', '20')
    """
    for size, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g}"


def _times(numbers: np.ndarray) -> str:
    ratio = numbers.max() / numbers.min()
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
