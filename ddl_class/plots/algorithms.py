"""How long algorithms take for which size: predicted, simulated and measured over each other.

A colour is an algorithm; a line is what its formula predicts, a hollow square what the simulator
says, a filled dot what was measured, with its interval. Both axes are logarithmic: a straight part
that rises is bandwidth, a flat part is latency. What to look at: where dots leave their line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.curves import Curve, Curves, draw, explain
from ddl_class.plots.frame import extremes, finish, scale_sizes_and_times
from ddl_runtime.pictures.style import (
    Look,
    algorithm_colour,
    in_style,
    new_axes,
    size_text,
    spoken,
    time_text,
)

SIZES = {"simulated": (6.5, 1.7), "measured": (4.0, 1.1)}
"""Of the smallest mark, and by how much the one beneath it is larger."""


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
    every = {"predicted": predicted, "simulated": simulated, "measured": measured}
    given = {ground: curves for ground, curves in every.items() if curves}
    if not given:
        raise ValueError("nothing to draw: give predicted, simulated or measured times")
    names = list(dict.fromkeys(name for curves in given.values() for name in curves))
    colours = {name: algorithm_colour(name, place) for place, name in enumerate(names)}
    ax = new_axes(9.0, 4.8) if ax is None else ax
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
            draw(ax, ground, (sizes, times, *intervals), colours[name], **look)
            words.append(
                f"{spoken(name, True)}, {ground}: {time_text(times[0])} for {size_text(sizes[0])} "
                f"to {time_text(times[-1])} for {size_text(sizes[-1])}."
            )
    scale_sizes_and_times(ax, "vector of each rank (bytes)", "time")
    explain(ax, {spoken(name): colour for name, colour in colours.items()}, given)
    about = f"Time over message size, {' and '.join(given)}"
    return finish(ax, about, _finding(given), title, more=" ".join(words))


def _finding(given: Mapping[str, Curves]) -> str:
    """What the curves show in one line: how good a prediction was, or which algorithm wins."""
    *others, (ground, curves) = given.items()
    winners = _winners(curves)
    factors = [
        factor
        for _, compared in others[:1]
        for name in curves.keys() & compared.keys()
        for factor in _factors(compared[name], curves[name])
    ]
    if not factors:
        return winners[:1].upper() + winners[1:]
    factor = float(np.median(factors))
    many = "as" if abs(factor - 1) < 0.005 else f"{factor:.2g} times the time"
    who = "" if len(curves) == 1 else f"{winners}; "
    return f"{ground.capitalize()}: {who}{many} {others[0][0]}"


def _sorted(curve: Curve) -> list[Any]:
    """A curve whose sizes grow, as arrays."""
    order = np.argsort(curve[0])
    return [np.asarray(part, float)[..., order] for part in curve]


def _factors(reference: Curve, curve: Curve) -> list[float]:
    """How many times as long as the reference, at the sizes that lie within its range."""
    sizes, times, *_ = _sorted(reference)
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
    (early, _), (late, _) = extremes(first), extremes(last)
    if len(curves) == 1:
        times = f"{time_text(first[early])} for {size_text(small)}, {time_text(last[late])} for"
        return f"{spoken(early)}: {times} {size_text(large)}"
    later = " and" if early == late else f", {spoken(late)}"
    return f"{spoken(early)} is fastest at {size_text(small)}{later} at {size_text(large)}"
