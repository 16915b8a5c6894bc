"""How long algorithms take for which size: predicted, simulated and measured over each other.

A colour is an algorithm; a line is what its formula predicts, a hollow square what the simulator
says, a filled dot what was measured, with its interval. Both axes are logarithmic: a straight part
that rises is bandwidth, a flat part is latency. What to look at: where dots leave their line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.style import (
    INK,
    algorithm_colour,
    describe,
    in_style,
    new_axes,
    size_text,
    spoken,
    time_text,
)

Curves = Mapping[str, Sequence[Any]]
"""By algorithm: (sizes in bytes, times in seconds), or with (lows, highs) as a third part."""

GROUNDS = {
    "predicted": {"linestyle": "-", "marker": ""},
    "simulated": {"linestyle": "", "marker": "s", "markerfacecolor": "none", "markersize": 8},
    "measured": {"linestyle": "", "marker": "o", "markersize": 5},
}


@in_style
def plot_times(
    predicted: Curves | None = None,
    simulated: Curves | None = None,
    measured: Curves | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw times over sizes, each of the three given as a dict from an algorithm's name."""
    given = {"predicted": predicted, "simulated": simulated, "measured": measured}
    given = {ground: curves for ground, curves in given.items() if curves}
    if not given:
        raise ValueError("nothing to draw: give predicted, simulated or measured times")
    names = list(dict.fromkeys(name for curves in given.values() for name in curves))
    ax = new_axes(7.5, 4.8) if ax is None else ax
    for ground, curves in given.items():
        for name, curve in curves.items():
            _draw(ax, GROUNDS[ground], algorithm_colour(name, names.index(name)), *curve)
    _scale(ax)
    _explain(ax, names, list(given))
    found = finding(given)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Time over message size, {' and '.join(given)}. {found}.")
    return ax.figure


def finding(given: Mapping[str, Curves]) -> str:
    """What the curves show in one line: how good a prediction was, or which algorithm wins."""
    *others, last = given.items()
    if others:
        factors = [
            factor
            for name, curve in last[1].items()
            if name in others[0][1]
            for factor in _factors(others[0][1][name], curve)
        ]
        if factors:
            factor = float(np.median(factors))
            equal = abs(factor - 1) < 0.005
            how = "as" if equal else f"{factor:.2g} times the time"
            return f"{last[0].capitalize()}: {how} {others[0][0]}"
    return _winners(last[1])


def _factors(reference: Sequence[Any], curve: Sequence[Any]) -> list[float]:
    """How many times as long as the reference, at the sizes that lie within its range."""
    sizes, times = (np.asarray(part, float) for part in reference[:2])
    order = np.argsort(sizes)
    sizes, times = sizes[order], times[order]
    return [
        time / float(np.interp(size, sizes, times))
        for size, time in zip(*curve[:2], strict=True)
        if sizes[0] <= size <= sizes[-1]
    ]


def _winners(curves: Curves) -> str:
    """Which algorithm is fastest at the smallest size and which at the largest."""
    at: dict[float, dict[str, float]] = {}
    for name, (sizes, times, *_) in curves.items():
        for size, time in zip(sizes, times, strict=True):
            at.setdefault(size, {})[name] = time
    (small, first), (large, last) = min(at.items()), max(at.items())
    early, late = min(first, key=first.get), min(last, key=last.get)
    if len(curves) == 1:
        times = f"{time_text(first[early])} for {size_text(small)}, {time_text(last[late])} for"
        return f"{spoken(early, True)}: {times} {size_text(large)}"
    later = "too" if early == late else spoken(late)
    at_first = f"{spoken(early, True)} is fastest at {size_text(small)}"
    return f"{at_first}, {later} at {size_text(large)}"


def _draw(
    ax: Axes,
    look: Mapping[str, Any],
    colour: Any,
    sizes: Sequence[float],
    times: Sequence[float],
    interval: Sequence[Sequence[float]] | None = None,
) -> None:
    sizes, times = np.asarray(sizes, float), np.asarray(times, float)
    order = np.argsort(sizes)
    ax.plot(sizes[order], times[order], color=colour, **look)
    if interval is not None:
        lows, highs = (np.asarray(part, float) for part in interval)
        ax.vlines(sizes, lows, highs, color=colour, linewidth=1.4)


def _scale(ax: Axes) -> None:
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    low, high = (np.log2(edge) for edge in ax.get_xlim())
    # Every second power of two, or every fourth: labels that do not touch.
    step = max(1, int(np.ceil((high - low) / 9)))
    ax.xaxis.set_major_locator(LogLocator(base=2.0**step, numticks=20))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    decades = np.ptp(np.log10(ax.get_ylim()))
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 3 else (1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda time, _: time_text(time)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(True)
    ax.set_xlabel("vector of each rank (bytes)")
    ax.set_ylabel("time")


def _explain(ax: Axes, names: Sequence[str], grounds: Sequence[str]) -> None:
    """One legend: first what the marks mean, then what the colours mean."""
    marks = [Line2D([], [], color=INK, label=ground, **GROUNDS[ground]) for ground in grounds]
    colours = [
        Line2D([], [], color=algorithm_colour(name, place), linewidth=5, label=spoken(name))
        for place, name in enumerate(names)
    ]
    ax.legend(handles=[*marks, *colours], loc="best", handlelength=1.6)
