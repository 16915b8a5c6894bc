"""Time against workspace, and what a limit makes of a batch.

A front is a staircase: whoever has so many bytes gets the time below the step. Hollow marks are
whole batches by one method, a colour each. Bars are divisions: a piece is as wide as its examples
are many, and has its method's colour. What to look at: how few steps a staircase has, and which
colour each limit brings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.convolutions import METHOD_COLOURS, method_colour, method_name
from ddl_class.plots.curves import Numbers, Series, colours_of
from ddl_class.plots.frame import BESIDE, need, plane
from ddl_runtime.pictures.style import INK, Look, in_style, size_text, time_text

LIMIT_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44")
LEAST = 2**10  # bytes; what needs less is drawn there, as a logarithmic axis has no zero
FEW = 48  # pieces up to which each is drawn with its edges


@in_style
def plot_front(
    workspace: Numbers, seconds: Numbers, whole: Mapping[str, tuple[float, float]]
) -> Figure:
    """Draw a front, and other points as (workspace, seconds): `whole` batches by method."""
    words = "a front needs at least one point, and as many seconds as workspaces"
    need(0 < len(workspace) == len(seconds), words)
    order = np.argsort(workspace)
    sizes, times = np.asarray(workspace, float)[order], np.asarray(seconds, float)[order]
    drawn = np.maximum(sizes, LEAST)
    ax = plane(height=4.2)
    far = 1.6 * max(sizes[-1], *(size for size, _ in whole.values()), 0.0)
    ax.step([*drawn, far], [*times, times[-1]], where="post", color=INK, linewidth=1.4)
    ax.plot(drawn, times, "o", color=INK, markersize=4.5, label="can be best")
    for method, (size, time) in whole.items():
        look: Look = {"markersize": 9, "markerfacecolor": "none", "markeredgewidth": 2}
        name = f"whole, {method_name(method)}" if method in METHOD_COLOURS else method
        ax.plot(max(size, LEAST), time, "s", color=method_colour(method), label=name, **look)
    ax.scale_sizes_and_times("workspace (bytes)", "time")
    found = (
        f"{len(sizes)} divisions can be best: {time_text(times[0])} in {size_text(sizes[0])} to "
        f"{time_text(times[-1])} in {size_text(sizes[-1])}"
    )
    points = ", ".join(
        f"{method_name(method)} {time_text(time)} in {size_text(size)}"
        for method, (size, time) in whole.items()
    )
    more = f"Whole batches by one method: {points}." if points else ""
    return ax.finish("Time over workspace", found, legend=BESIDE, more=more)


@in_style
def plot_limits(
    limits: Numbers, predicted: Series, measured: Series | None = None, *, title: str
) -> Figure:
    """Draw times over the limit: lines are predicted, dots measured; nan where nothing fits."""
    ax = plane(height=4.2)
    grounds = {
        ground: {name: (limits, times) for name, times in curves.items()}
        for ground, curves in (("predicted", predicted), ("measured", measured or {}))
    }
    ax.draw_all(grounds, colours_of(LIMIT_COLOURS))
    ax.scale_sizes_and_times("limit of the workspace (bytes)", "time")
    listed = []
    for ground, curves in grounds.items():
        for name, (_, times) in curves.items():
            there = np.flatnonzero(np.isfinite(times))
            listed += [
                f"{name}, {ground}: {time_text(times[k])} in {size_text(limits[k])}"
                for k in dict.fromkeys([*there[:1], *there[-1:]])
            ]
    about, more = "Time over the limit of the workspace", f"{'; '.join(listed)}."
    return ax.finish(about, title, legend=BESIDE, more=more)


@in_style
def plot_divisions(divisions: Mapping[str, Sequence[tuple[str, int]]], *, title: str) -> Figure:
    """Draw a row for each division, by its name: its pieces as (method, examples)."""
    need(divisions, "no division was given")
    ax = plane("examples of the batch", height=1.2 + 0.4 * len(divisions))
    most = max(sum(size for _, size in parts) for parts in divisions.values())
    for row, parts in enumerate(divisions.values()):
        few, start = len(parts) <= FEW, 0
        edge: Look = {"edgecolor": "white", "linewidth": 1.2} if few else {}
        for method, size in parts:
            ax.barh(row, size, 0.72, start, color=method_colour(method), **edge)
            if few and size >= most / 20:
                ax.write(start + size / 2, row, size, color="white", fontsize=10)
            start += size
        if not few:
            sizes = Counter(size for _, size in parts)
            words = ", ".join(f"{count} pieces of {size}" for size, count in sizes.items())
            ax.write(start / 2, row, words, color="white", fontsize=10)
    ax.set_xlim(0, most)
    ax.name_rows(divisions)
    methods = dict.fromkeys(method for parts in divisions.values() for method, _ in parts)
    ax.explain_colours({method_name(method): method_colour(method) for method in methods})
    rows = "; ".join(
        f"{name}: {', '.join(f'{method_name(method)} of {size}' for method, size in parts)}"
        for name, parts in divisions.items()
    )
    return ax.finish(title, rows, title, grid="")
