"""How long algorithms take for which size: predicted, simulated and measured over each other.

A colour is an algorithm; a line is what its formula predicts, a hollow square what the simulator
says, a filled dot what was measured, with its interval. Both axes are logarithmic: a straight part
that rises is bandwidth, a flat part is latency. What to look at: where dots leave their line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ddl_teach.plots.style import (
    INK,
    algorithm_colour,
    describe,
    in_style,
    new_axes,
    scale_sizes_and_times,
    size_text,
    spoken,
    time_text,
)

Curves = Mapping[str, Sequence[Any]]
"""By algorithm: (sizes in bytes, times in seconds), or with (lows, highs) as a third part."""

GROUNDS = {
    "predicted": {"linestyle": "-", "marker": ""},
    "simulated": {"linestyle": "", "marker": "s", "markerfacecolor": "none"},
    "measured": {"linestyle": "", "marker": "o"},
}
LETTERS_PER_INCH = 9.4  # of a title
WIDTHS = (1.5, 0.9)  # of the thinnest line, and by how much the one beneath it is wider
SIZES = {"simulated": (6.5, 1.7), "measured": (4.0, 1.1)}  # likewise of the marks


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
    ax = new_axes(9.0, 4.8) if ax is None else ax
    for ground, curves in given.items():
        for name, curve in curves.items():
            place = names.index(name)
            # Where curves coincide the ones beneath show at both sides of those above.
            beneath = min(len(names) - 1 - place, 4)
            look = {**GROUNDS[ground], "linewidth": WIDTHS[0] + WIDTHS[1] * beneath}
            if ground in SIZES:
                least, more = SIZES[ground]
                look |= {"markersize": least + more * beneath, "linewidth": 1.4}
            _draw(ax, {**look, "color": algorithm_colour(name, place)}, *curve)
    scale_sizes_and_times(ax, "vector of each rank (bytes)", "time")
    _explain(ax, names, list(given))
    found = finding(given)
    room = (1 - ax.get_position().x0) * ax.figure.get_figwidth()
    ax.set_title(fill(found, int(room * LETTERS_PER_INCH)) if title is None else title)
    describe(ax.figure, in_words(given))
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
            how = f"{'as' if equal else f'{factor:.2g} times the time'} {others[0][0]}"
            if len(last[1]) == 1:
                return f"{last[0].capitalize()}: {how}"
            return f"{last[0].capitalize()}: {_winners(last[1])}; {how}"
    winners = _winners(last[1])
    return winners[:1].upper() + winners[1:]


def in_words(given: Mapping[str, Curves]) -> str:
    """The picture for those who cannot see it: what was found, and where each curve lies."""
    parts = [
        f"{spoken(name, True)}, {ground}: {time_text(ends[0][1])} for {size_text(ends[0][0])} to "
        f"{time_text(ends[-1][1])} for {size_text(ends[-1][0])}."
        for ground, curves in given.items()
        for name, (sizes, times, *_) in curves.items()
        for ends in [sorted(zip(sizes, times, strict=True))]
    ]
    which = " and ".join(given)
    return f"Time over message size, {which}. {finding(given)}. {' '.join(parts)}"


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
        return f"{spoken(early)}: {times} {size_text(large)}"
    later = " and" if early == late else f", {spoken(late)}"
    return f"{spoken(early)} is fastest at {size_text(small)}{later} at {size_text(large)}"


def _draw(
    ax: Axes,
    look: Mapping[str, Any],
    sizes: Sequence[float],
    times: Sequence[float],
    interval: Sequence[Sequence[float]] | None = None,
) -> None:
    sizes, times = np.asarray(sizes, float), np.asarray(times, float)
    order = np.argsort(sizes)
    ax.plot(sizes[order], times[order], **look)
    if interval is not None:
        lows, highs = (np.asarray(part, float) for part in interval)
        ax.vlines(sizes, lows, highs, color=look["color"], linewidth=1.4)


def _explain(ax: Axes, names: Sequence[str], grounds: Sequence[str]) -> None:
    """One legend: first what the marks mean, then what the colours mean."""
    marks = [
        Line2D([], [], color=INK, label=ground, markersize=6, **GROUNDS[ground])
        for ground in grounds
    ]
    colours = [
        Line2D([], [], color=algorithm_colour(name, place), linewidth=5, label=spoken(name))
        for place, name in enumerate(names)
    ]
    # Beside the axes: within them it would lie on somebody's dots.
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    ax.legend(handles=[*marks, *colours], handlelength=1.6, **place)
