"""What messages cost: single ones over their size, algorithms over theirs, and the order of ranks.

Of single messages every measurement is a faint dot, the median of a size a full one with its
quartiles. The line is `latency + nbytes * per_byte`; its two parts stand dotted beside it. What to
look at: how long it stays flat, which dots lie above their line, and that ranks do not come in the
order of their numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap

from ddl_class.plots.frame import (
    BESIDE,
    Curves,
    Numbers,
    Plane,
    counted,
    least,
    listed,
    need,
    plane,
)
from ddl_runtime.pictures.style import INK, Look, Picture, Points, algorithm_colour, rank_colour
from ddl_runtime.pictures.words import rate_text, size_text, spoken, time_text

MEASURED, LINE = "#4477aa", "#ee6677"
SIZES = {"simulated": (6.5, 1.7), "measured": (4.0, 1.1)}
"""Of the smallest mark of several algorithms, and by how much the one beneath it is larger."""


def plot_messages(
    nbytes: Numbers,
    seconds: Numbers,
    *,
    latency: float | None = None,
    per_byte: float | None = None,
    simulated: Points | None = None,
) -> Picture:
    """Draw measured one-way times, every repetition of them, and what was made of them.

    `latency` and `per_byte` are a fitted line; `simulated` are sizes and times of simulated ranks.
    """
    sizes, times = np.asarray(nbytes, float), np.asarray(seconds, float)
    words = f"{sizes.size} sizes and {times.size} times: give one time for each size"
    need(sizes.shape == times.shape and sizes.size, words)
    need((latency is None) == (per_byte is None), "a line needs both latency and per_byte")
    sizes, times = sizes[sizes > 0], times[sizes > 0]  # a logarithmic axis has no place for 0
    ax = plane(height=4.4)
    distinct = np.unique(sizes)
    low, middle, high = np.array(
        [np.quantile(times[sizes == size], [0.25, 0.5, 0.75]) for size in distinct]
    ).T
    medians: Sequence[Any] = (distinct, middle)
    if len(sizes) > len(distinct):
        medians = (distinct, middle, (low, high))
        ax.plot(sizes, times, ".", color=MEASURED, alpha=0.2, markersize=4, markeredgewidth=0)
    ax.draw_curve("measured", medians, MEASURED, "measured: median\nand quartiles", zorder=4)
    if simulated is not None:
        ax.draw_curve("simulated", simulated, INK, "simulated", markersize=9, zorder=3)
    takeaway, off = f"A message takes {time_text(middle[0])} to {time_text(middle[-1])}", ""
    if latency is not None and per_byte is not None:
        _draw_line(ax, distinct, latency, per_byte)
        ratios = middle / (latency + distinct * per_byte)
        off = f"They are {ratios.min():.2g} to {ratios.max():.2g} times the fitted line."
        takeaway = _finding(latency, per_byte)
    ax.scale_sizes_and_times("size of one message (bytes)", "time of one message")
    # Noise has no upper bound: what matters is where the medians and the line are.
    ax.set_ylim(min(times.min(), low.min()) / 1.5, max(np.quantile(times, 0.99), high.max()) * 2)
    listed = ", ".join(
        f"{size_text(distinct[place])} {time_text(middle[place])}"
        for place in np.unique(np.linspace(0, len(distinct) - 1, 5).round().astype(int))
    )
    more = f"Medians of what was measured: {listed}. {off}"
    legend = {**BESIDE, "labelspacing": 1.0}
    return ax.finish("Time of one message over its size", takeaway, legend=legend, more=more)


def _finding(latency: float, per_byte: float) -> str:
    """What a fitted line says, in one line."""
    if latency <= 0 or per_byte <= 0:
        what, value = ("latency", latency) if latency <= 0 else ("time per byte", per_byte)
        return f"This line cannot be: its {what} is {value:.2g} s"
    costs = f"A message costs {time_text(latency)} and {time_text(per_byte)} a byte"
    return f"{costs}: latency rules below {size_text(latency / per_byte)}"


def _draw_line(ax: Plane, sizes: np.ndarray, latency: float, per_byte: float) -> None:
    """Draw the fitted line, labelled with its two numbers, and its two parts as dotted lines."""
    rate = f"\nbandwidth {rate_text(1 / per_byte)}" if per_byte > 0 else ""
    words = f"latency + bytes / bandwidth\nlatency {time_text(latency)}{rate}"
    fine = np.geomspace(sizes[0], sizes[-1], 200)
    both = latency + fine * per_byte
    ax.plot(fine[both > 0], both[both > 0], color=LINE, label=words, zorder=2)
    for part in (np.full_like(fine, latency), fine * per_byte):
        if (part > 0).all():
            ax.plot(fine, part, ":", color=LINE, linewidth=1.2)


def plot_times(
    predicted: Curves | None = None,
    simulated: Curves | None = None,
    measured: Curves | None = None,
    *,
    title: str | None = None,
    ax: Plane | None = None,
) -> Picture:
    """Draw times over sizes, each of the three given as a dict from an algorithm's name."""
    every = {"predicted": predicted, "simulated": simulated, "measured": measured}
    given = {ground: curves for ground, curves in every.items() if curves}
    need(given, "nothing to draw: give predicted, simulated or measured times")
    names = list(dict.fromkeys(name for curves in given.values() for name in curves))
    colours = {name: algorithm_colour(name, place) for place, name in enumerate(names)}
    ax = plane(height=4.8) if ax is None else ax
    words = []
    for ground, curves in given.items():
        for name, curve in curves.items():
            # Where curves coincide the ones beneath show at both sides of those above.
            beneath = min(len(names) - 1 - names.index(name), 4)
            look: Look = {"linewidth": 1.5 + 0.9 * beneath}
            if ground in SIZES:
                least, more = SIZES[ground]
                look = {"linewidth": 1.4, "markersize": least + more * beneath}
            sizes, times, *intervals = _sorted(curve)
            ax.draw_curve(ground, (sizes, times, *intervals), colours[name], **look)
            words.append(
                f"{spoken(name, True)}, {ground}: {time_text(times[0])} for {size_text(sizes[0])} "
                f"to {time_text(times[-1])} for {size_text(sizes[-1])}."
            )
    ax.scale_sizes_and_times("vector of each rank (bytes)", "time")
    ax.explain({spoken(name): colour for name, colour in colours.items()}, given)
    about = f"Time over message size, {' and '.join(given)}"
    return ax.finish(about, _comparison(given), title, more=" ".join(words))


def _comparison(given: Mapping[str, Curves]) -> str:
    """What the curves show in one line: how good a prediction was, or which algorithm wins."""
    *others, (ground, curves) = given.items()
    winners = _winners(curves)
    factors: list[float] = []  # times as long as predicted, at sizes that a prediction spans
    for _, compared in others[:1]:
        for name in curves.keys() & compared.keys():
            sizes, times = _sorted(curves[name])[:2]
            known, expected = _sorted(compared[name])[:2]
            inside = (known[0] <= sizes) & (sizes <= known[-1])
            factors += (times / np.interp(sizes, known, expected))[inside].tolist()
    if not factors:
        return winners[:1].upper() + winners[1:]
    factor = float(np.median(factors))
    many = "as" if abs(factor - 1) < 0.005 else f"{factor:.2g} times the time"
    who = "" if len(curves) == 1 else f"{winners}; in the median "
    return f"{ground.capitalize()}: {who}{many} {others[0][0]}"


def _sorted(curve: Sequence[Any]) -> list[Any]:
    """A curve whose sizes grow, as arrays."""
    order = np.argsort(curve[0])
    return [np.asarray(part, float)[..., order] for part in curve]


def _winners(curves: Curves) -> str:
    """Which algorithm is fastest at the smallest size and which at the largest."""
    at: dict[float, dict[str, float]] = {}
    ends: dict[float, dict[str, tuple[float, float]]] = {}
    for name, (sizes, times, *intervals) in curves.items():
        lows, highs = intervals[0] if intervals else (times, times)
        for size, time, low, high in zip(sizes, times, lows, highs, strict=True):
            at.setdefault(size, {})[name] = time
            ends.setdefault(size, {})[name] = low, high
    small, large = min(at), max(at)
    if len(curves) == 1:
        [name] = curves
        both = (f"{time_text(at[size][name])} for {size_text(size)}" for size in (small, large))
        return f"{spoken(name)}: {', '.join(both)}"
    early, late = ([*map(spoken, least(at[size], ends[size]))] for size in (small, large))
    verb = "is" if len(early) == 1 else "are"
    later = " and" if early == late else f", {listed(late)}"
    return f"{listed(early)} {verb} fastest at {size_text(small)}{later} at {size_text(large)}"


def plot_arrivals(times: Sequence[Numbers]) -> Picture:
    """Draw the order of the ranks in each turn; `times[rank][turn]` is when it came."""
    came = np.asarray(times, float)
    words = f"times have a row for each rank and a column for each turn, not shape {came.shape}"
    need(came.ndim == 2 and came.size, words)
    ranks, turns = came.shape
    order = np.argsort(came, axis=0, kind="stable")
    ax = plane("turn", height=1.3 + 0.28 * ranks)
    colours = {f"rank {rank}": rank_colour(rank) for rank in range(ranks)}
    look: Look = {"cmap": ListedColormap([*colours.values()]), "vmin": -0.5, "vmax": ranks - 0.5}
    edges = np.arange(turns + 1) + 0.5, np.arange(ranks + 1) - 0.5
    ax.pcolormesh(*edges, order, edgecolor="white", linewidth=0.6, **look)
    ax.invert_yaxis()
    ax.set_yticks(*([0, ranks - 1], ["first", "last"]) if ranks > 1 else ([0], ["first"]))
    ax.explain_colours(colours, **{**BESIDE, "bbox_to_anchor": (1.01, 1.03)})
    different = len(np.unique(order, axis=1).T)
    by_number = int((order == np.arange(ranks)[:, None]).all(axis=0).sum())
    orders = f"{counted(turns, 'turn')}, {counted(different, 'different order')}"
    takeaway = f"{orders}: {counted(by_number, 'time')} by number"
    return ax.finish("The order in which ranks came, turn by turn", takeaway, grid="")
