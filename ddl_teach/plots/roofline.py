"""A roofline: how fast each layer computes, below the roof that the machine allows.

Right means more operations for each byte that moves, up means more operations a second. A slope is
what a memory can feed, the flat top what arithmetic can do. A point is a layer at its *measured*
speed, the larger the more time it takes. What to look at: points left of the ridge are limited by
memory; points far below every roof are limited by something that the roof does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes

from ddl_teach.plots.style import (
    INK,
    describe,
    in_style,
    new_axes,
    rank_colour,
    rate_text,
    time_text,
)

LARGEST, SMALLEST = 220.0, 12.0  # areas of points, in square points
NAMED = 5  # of the layers that take longest


class Point(Protocol):
    """A layer: operations per byte, operations a second, seconds."""

    name: str
    kind: str
    intensity: float
    rate: float
    seconds: float


@in_style
def plot_roofline(
    points: Sequence[Point],
    operations_per_second: float,
    bandwidths: Mapping[str, float],
    *,
    network: str = "the network",
    ax: Axes | None = None,
) -> Axes:
    """Layers below the roof of `operations_per_second` and of each of the `bandwidths` (bytes/s).

    The first bandwidth is the one that decides who counts as limited by memory.
    """
    if not points or not bandwidths:
        raise ValueError("a roofline needs at least one layer and one bandwidth")
    axes = new_axes(9.0, 5.0) if ax is None else ax
    intensities = np.array([point.intensity for point in points])
    rates = np.array([point.rate for point in points])
    seconds = np.array([point.seconds for point in points])
    ridges = {name: operations_per_second / rate for name, rate in bandwidths.items()}
    low = min(intensities.min(), *ridges.values()) / 3
    high = max(intensities.max(), *ridges.values()) * 3
    kinds = sorted({point.kind for point in points}, key=lambda kind: -_time_of(points, kind))
    for position, kind in enumerate(kinds):
        chosen = np.array([point.kind == kind for point in points])
        axes.scatter(
            intensities[chosen],
            rates[chosen],
            s=SMALLEST + LARGEST * seconds[chosen] / seconds.max(),
            color=rank_colour(position),
            alpha=0.75,
            linewidths=0,
            label=f"{kind}, {seconds[chosen].sum() / seconds.sum():.0%} of the time",
            zorder=3,
        )
    for place in _apart(np.log10(np.stack([intensities, rates])), np.argsort(-seconds)[:NAMED]):
        name = points[place].name or network
        spot = (intensities[place], rates[place])
        axes.annotate(name, spot, (9, -4), textcoords="offset points", fontsize=8, zorder=4)
    axes.set(xscale="log", yscale="log", xlim=(low, high))
    axes.set_ylim(rates.min() / 3, operations_per_second * 3)
    _draw_roofs(axes, operations_per_second, bandwidths, low, high)
    axes.set_xlabel("intensity (operations per byte moved)")
    axes.set_ylabel("operations per second")
    axes.yaxis.set_major_formatter(lambda rate, _: rate_text(rate).replace("B/s", "op/s"))
    axes.grid(True)
    for marker in axes.legend(loc="lower right").legend_handles:
        marker.set_sizes([40.0])
    memory = next(iter(ridges.values()))
    finding = _finding(network, intensities < memory, seconds)
    axes.set_title(finding)
    describe(axes.figure, _in_words(finding, points, operations_per_second, bandwidths))
    return axes


def _draw_roofs(
    axes: Axes, top: float, bandwidths: Mapping[str, float], low: float, high: float
) -> None:
    for name, rate in bandwidths.items():
        ridge = top / rate
        axes.plot([low, ridge, high], [low * rate, top, top], color=INK, linewidth=1.4)
        # Along the slope, from where it comes into the picture.
        begin = max(low, axes.get_ylim()[0] / rate) * 1.3
        (x, y), (right, up) = axes.transData.transform([[low, low * rate], [ridge, top]])
        axes.annotate(
            f"{name} {rate_text(rate)}",
            (begin, begin * rate),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=8.5,
            rotation=np.degrees(np.arctan2(up - y, right - x)),
            rotation_mode="anchor",
        )
    axes.annotate(
        f"arithmetic {rate_text(top).replace('B/s', 'op/s')}",
        (high, top),
        xytext=(-4, 5),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
    )


def _apart(places: np.ndarray, order: np.ndarray) -> list[int]:
    """Those of the points whose names do not cover one another, the first in order preferred."""
    chosen: list[int] = []
    for place in order:
        distances = np.abs(places[:, chosen] - places[:, [place]])
        if not ((distances[0] < 0.6) & (distances[1] < 0.12)).any():
            chosen.append(int(place))
    return chosen


def _time_of(points: Sequence[Point], kind: str) -> float:
    return sum(point.seconds for point in points if point.kind == kind)


def _finding(network: str, by_memory: np.ndarray, seconds: np.ndarray) -> str:
    share = seconds[by_memory].sum() / seconds.sum()
    return (
        f"{network}: memory limits {by_memory.sum()} of {len(seconds)} layers, "
        f"which take {share:.0%} of the time"
    )


def _in_words(
    finding: str, points: Sequence[Point], top: float, bandwidths: Mapping[str, float]
) -> str:
    roofs = ", ".join(f"{name} {rate_text(rate)}" for name, rate in bandwidths.items())
    slowest = max(points, key=lambda point: point.seconds)
    return (
        f"Roofline. {finding}. Roofs: {rate_text(top).replace('B/s', 'op/s')} of arithmetic, "
        f"{roofs}. The layer that takes longest is {slowest.name} ({slowest.kind}) with "
        f"{time_text(slowest.seconds)}, at {slowest.intensity:.3g} operations per byte."
    )
