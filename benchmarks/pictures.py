"""What benchmarks draw: our times over those of peers, layers below the roof of a machine, and
which path a message takes from which size on.

Left of the line at 1 ours is the faster. Below a roof right means more operations for each byte
that moves: a slope is what a memory can feed, the flat top what arithmetic can do. What to look
at: points left of the ridge are limited by memory; points far below every roof by something that
the roof does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from ddl_class.plots.frame import Numbers, Plane, need, panels, plane
from ddl_class.plots.staging import path_colour
from ddl_runtime.pictures.style import INK, Look, Picture, rank_colour
from ddl_runtime.pictures.words import rate_text, size_text, time_text

if TYPE_CHECKING:
    from benchmarks.ceilings import LayerRate

LARGEST, SMALLEST = 220.0, 12.0  # areas of points, in square points
NAMED = 5  # of the layers that take longest
SMALLEST_MESSAGE = 1024  # bytes, where a picture of decisions begins


def plot_peers(ratios: Mapping[tuple[str, str], Numbers], *, machine: str = "") -> Picture:
    """Draw a row for each (way of ours, peer): our time / the peer's in each case."""
    need(ratios, "nothing to draw: give the ratios of at least one way and its peer")
    [ax] = axes = panels(9.0, 1.5 + 0.27 * len(ratios))
    peers = list(dict.fromkeys(peer for _, peer in ratios))
    for row, ((_, peer), values) in enumerate(ratios.items()):
        look: Look = {"color": rank_colour(peers.index(peer)), "alpha": 0.5, "markersize": 5}
        ax.plot(values, np.full(len(values), row), "o", **look)
        ax.plot([np.median(values)] * 2, [row - 0.36, row + 0.36], color=INK)
    ax.axvline(1.0, color=INK, linewidth=1.0)
    ax.log_scale("x")
    ax.name_rows([f"{ours}  /  {peer}" for ours, peer in ratios])
    ax.tick_params(labelsize=8.5)
    ax.grid(True, axis="x")
    x = "our time / the peer's   (dot: a case, bar: median; left of 1 ours is faster)"
    ax.set_xlabel(f"{x}\n{machine}".rstrip())
    words = "; ".join(
        f"{ours} / {peer}: median {np.median(values):.2g}"
        for (ours, peer), values in ratios.items()
    )
    cases = np.concatenate([*ratios.values()])
    more = f"Ours is faster in {np.mean(cases < 1):.0%} of {len(cases)} cases. {words}. {machine}"
    return axes[0].finish_all("Our times over those of peers", how_near(ratios), more=more)


def how_near(ratios: Mapping[tuple[str, str], Numbers]) -> str:
    """In how many rows our readable code takes at most twice its peer's time, and less."""
    medians = np.array([np.median(values) for values in ratios.values()])
    return (
        f"Python to be read: at most twice its peer's time in {(medians <= 2).sum()} of "
        f"{len(medians)} rows, less in {(medians < 1).sum()}"
    )


def plot_roofline(
    points: Sequence[LayerRate],
    operations_per_second: float,
    bandwidths: Mapping[str, float],
    *,
    network: str,
) -> Axes:
    """Layers at their measured speed, the larger the more time they take, below the roof of
    `operations_per_second` and of each of the `bandwidths` (bytes/s).

    The first bandwidth is the one that decides who counts as limited by memory.
    """
    need(points and bandwidths, "a roofline needs at least one layer and one bandwidth")
    ax = plane("intensity (operations per byte moved)", "operations per second", 5.0)
    columns = zip(*((it.intensity, it.rate, it.seconds) for it in points), strict=True)
    intensities, rates, seconds = map(np.array, columns)
    kinds = np.array([point.kind for point in points])
    whole = {kind: seconds[kinds == kind].sum() for kind in sorted({*kinds})}
    for position, kind in enumerate(sorted(whole, key=whole.__getitem__, reverse=True)):
        own = kinds == kind
        sizes = SMALLEST + LARGEST * seconds[own] / seconds.max()
        label = f"{kind}, {whole[kind] / seconds.sum():.0%} of the time"
        look: Look = {"color": rank_colour(position), "alpha": 0.75, "linewidths": 0, "zorder": 3}
        ax.scatter(intensities[own], rates[own], sizes, label=label, **look)
    slowest = np.argsort(-seconds)
    for place in _apart(np.log10(np.stack([intensities, rates])), slowest[:NAMED]):
        spot = intensities[place], rates[place]
        ax.note(points[place].name or network, spot, (9, -4), fontsize=8, zorder=4)
    ridges = [operations_per_second / rate for rate in bandwidths.values()]
    low, high = min(intensities.min(), *ridges) / 3, max(intensities.max(), *ridges) * 3
    ax.set(xscale="log", yscale="log", xlim=(low, high))
    ax.set_ylim(rates.min() / 3, operations_per_second * 3)
    _draw_roofs(ax, operations_per_second, bandwidths)
    ax.write_axis("y", _speed)
    for marker in filter(None, ax.legend(loc="lower right").legend_handles):
        marker.set(sizes=[40.0])
    by_memory = intensities < ridges[0]
    share = seconds[by_memory].sum() / seconds.sum()
    found = (
        f"{network}: memory limits {by_memory.sum()} of {len(seconds)} layers, "
        f"which take {share:.0%} of the time"
    )
    longest = points[slowest[0]]
    roofs = ", ".join(f"{name} {rate_text(rate)}" for name, rate in bandwidths.items())
    more = (
        f"Roofs: {_speed(operations_per_second)} of arithmetic, {roofs}. The layer that takes "
        f"longest is {longest.name} ({longest.kind}) with {time_text(longest.seconds)}, at "
        f"{longest.intensity:.3g} operations per byte."
    )
    ax.finish("Roofline", found, more=more)
    return ax


def _draw_roofs(ax: Plane, top: float, bandwidths: Mapping[str, float]) -> None:
    low, high = ax.get_xlim()
    for name, rate in bandwidths.items():
        ridge = top / rate
        ax.plot([low, ridge, high], [low * rate, top, top], color=INK, linewidth=1.4)
        # Along the slope, from where it comes into the picture.
        begin = max(low, ax.get_ylim()[0] / rate) * 1.3
        (x, y), (right, up) = ax.transData.transform([[low, low * rate], [ridge, top]])
        angle = np.degrees(np.arctan2(up - y, right - x))
        slope: Look = {"rotation": angle, "rotation_mode": "anchor"}
        words = f"{name} {rate_text(rate)}"
        ax.note(words, (begin, begin * rate), (0, 3), fontsize=8.5, **slope)
    ax.note(f"arithmetic {_speed(top)}", (high, top), (-4, 5), ha="right", fontsize=8.5)


def _apart(places: np.ndarray, order: np.ndarray) -> list[int]:
    """Those of the points whose names do not cover one another, the first in order preferred."""
    chosen: list[int] = []
    for place in order:
        distances = np.abs(places[:, chosen] - places[:, [place]])
        if not ((distances[0] < 0.6) & (distances[1] < 0.12)).any():
            chosen.append(int(place))
    return chosen


def _speed(rate: float) -> str:
    """Operations a second, in words."""
    return rate_text(rate).replace("B/s", "op/s")


def plot_decisions(
    tables: Mapping[str, Sequence[tuple[float, str]]], *, largest: float, label: str, title: str
) -> Picture:
    """Draw a bar for each table: from which size on which path is taken, (begin, name) each."""
    ax = plane("size of one message (bytes)", height=1.5 + 0.55 * len(tables))
    paths, said = {}, []
    for row, (table, decisions) in enumerate(tables.items()):
        changes: dict[str, str] = {}
        ends = [*(begin for begin, _ in decisions[1:]), largest]
        for (begin, name), end in zip(decisions, ends, strict=True):
            path, _, words = name.partition(", ")
            paths[path] = path_colour(path)
            if path != next(reversed(changes), ""):
                changes[path] = f"{path} from {size_text(begin)} on" if begin else path
            begin = max(begin, SMALLEST_MESSAGE)
            if begin < end:
                look: Look = {"edgecolor": "white", "linewidth": 1.5, "color": paths[path]}
                ax.barh(row, end - begin, 0.7, begin, **look)
                middle = np.sqrt(begin * end)
                ax.write(middle, row, words, color="white", fontsize=7.5, clip_on=True)
        said.append(f"{table}: {', '.join(changes.values())}")
    ax.log_scale("x", size_text, base=2)
    ax.set_xlim(SMALLEST_MESSAGE, largest)
    ax.xaxis.set_major_locator(LogLocator(base=16.0, numticks=20))
    ax.name_rows(tables)
    for path, colour in paths.items():
        ax.plot([], [], "s", color=colour, markersize=9, label=path)
    ax.name_ground(label)
    about = "Messages between devices"
    return ax.finish(about, "; ".join(said), f"{title}\n", grid="", legend="beside", more=label)
