"""Time against workspace, and what a limit makes of a batch.

A front is a staircase: whoever has so many bytes gets the time below the step. Hollow marks are
whole batches by one method, a colour each. Bars are divisions: a piece is as wide as its examples
are many, and has its method's colour. What to look at: how few steps a staircase has, and which
colour each limit brings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.convolutions import METHOD_COLOURS, OTHER, method_name
from ddl_teach.plots.style import INK, describe, in_style, new_axes, size_text, time_text

LIMIT_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44")
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
LEAST = 2**10  # bytes; what needs less is drawn there, as a logarithmic axis has no zero
FEW = 48  # pieces up to which each is drawn with its edges


@in_style
def plot_front(
    workspace: Sequence[float],
    seconds: Sequence[float],
    whole: Mapping[str, tuple[float, float]] | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a front, and other points as (workspace, seconds): `whole` batches by method."""
    if not len(workspace) or len(workspace) != len(seconds):
        raise ValueError("a front needs at least one point, and as many seconds as workspaces")
    order = np.argsort(workspace)
    sizes, times = np.asarray(workspace, float)[order], np.asarray(seconds, float)[order]
    drawn = np.maximum(sizes, LEAST)
    whole = dict(whole or {})
    ax = new_axes(9.0, 4.2) if ax is None else ax
    far = 1.6 * max(sizes[-1], *(size for size, _ in whole.values())) if whole else 1.6 * sizes[-1]
    ax.step([*drawn, far], [*times, times[-1]], where="post", color=INK, linewidth=1.4)
    ax.plot(drawn, times, "o", color=INK, markersize=4.5, label="can be best")
    for method, (size, time) in whole.items():
        colour = METHOD_COLOURS.get(method, OTHER)
        look = {"markersize": 9, "markerfacecolor": "none", "markeredgewidth": 2}
        name = f"whole, {method_name(method)}" if method in METHOD_COLOURS else method
        ax.plot(max(size, LEAST), time, "s", color=colour, label=name, **look)
    _scale_bytes(ax)
    ax.set_yscale("log")
    _scale_times(ax)
    ax.set_xlabel("workspace (bytes)")
    ax.legend(**BESIDE)
    least, most = times[-1], times[0]
    found = (
        f"{len(sizes)} divisions can be best: {time_text(most)} in {size_text(sizes[0])} to "
        f"{time_text(least)} in {size_text(sizes[-1])}"
    )
    ax.set_title(found if title is None else title)
    points = ", ".join(
        f"{method_name(method)} {time_text(time)} in {size_text(size)}"
        for method, (size, time) in whole.items()
    )
    alone = f" Whole batches by one method: {points}." if points else ""
    describe(ax.figure, f"Time over workspace. {found}.{alone}")
    return ax.figure


@in_style
def plot_limits(
    limits: Sequence[float],
    predicted: Mapping[str, Sequence[float]],
    measured: Mapping[str, Sequence[float]] | None = None,
    *,
    title: str,
    ax: Axes | None = None,
) -> Figure:
    """Draw times over the limit: lines are predicted, dots measured; nan where nothing fits."""
    limits = np.asarray(limits, float)
    measured = dict(measured or {})
    names = list(dict.fromkeys([*predicted, *measured]))
    ax = new_axes(9.0, 4.2) if ax is None else ax
    said = []
    for ground, curves, look in (
        ("predicted", predicted, {"marker": "", "linestyle": "-"}),
        ("measured", measured, {"marker": "o", "linestyle": ""}),
    ):
        for name, curve in curves.items():
            times = np.asarray(curve, float)
            colour = LIMIT_COLOURS[names.index(name) % len(LIMIT_COLOURS)]
            ax.plot(limits, times, color=colour, label=f"{name}, {ground}", **look)
            there = np.flatnonzero(np.isfinite(times))
            said += [
                f"{name}, {ground}: {time_text(times[k])} in {size_text(limits[k])}"
                for k in dict.fromkeys([*there[:1], *there[-1:]])
            ]
    _scale_bytes(ax)
    ax.set_yscale("log")
    _scale_times(ax)
    ax.set_xlabel("limit of the workspace (bytes)")
    ax.set_title(title)
    ax.legend(**BESIDE)
    describe(ax.figure, f"Time over the limit of the workspace. {title}. {'; '.join(said)}.")
    return ax.figure


@in_style
def plot_divisions(
    divisions: Mapping[str, Sequence[tuple[str, int]]], *, title: str, ax: Axes | None = None
) -> Figure:
    """Draw a row for each division, by its name: its pieces as (method, examples)."""
    if not divisions:
        raise ValueError("no division was given")
    ax = new_axes(9.0, 1.2 + 0.4 * len(divisions)) if ax is None else ax
    most = max(sum(size for _, size in parts) for parts in divisions.values())
    for row, parts in enumerate(reversed(divisions.values())):
        starts = np.cumsum([0, *(size for _, size in parts)])
        edge = {"edgecolor": "white", "linewidth": 1.2} if len(parts) <= FEW else {}
        for start, (method, size) in zip(starts, parts, strict=False):
            colour = METHOD_COLOURS.get(method, OTHER)
            ax.barh(row, size, left=start, height=0.72, color=colour, **edge)
            if size >= most / 20:
                ax.text(start + size / 2, row, size, ha="center", va="center", color="white")
        if len(parts) > FEW:
            ax.text(starts[-1] / 2, row, _in_short(parts), ha="center", va="center", color="white")
    ax.set_yticks(range(len(divisions)), list(reversed(divisions)))
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, most)
    ax.set_xlabel("examples of the batch")
    methods = dict.fromkeys(method for parts in divisions.values() for method, _ in parts)
    patches = [
        Patch(color=METHOD_COLOURS.get(name, OTHER), label=method_name(name)) for name in methods
    ]
    ax.legend(handles=patches, **BESIDE)
    ax.set_title(title)
    rows = (
        f"{name}: {', '.join(f'{method_name(method)} of {size}' for method, size in parts)}"
        for name, parts in divisions.items()
    )
    describe(ax.figure, f"{title}. {'; '.join(rows)}.")
    return ax.figure


def _in_short(parts: Sequence[tuple[str, int]]) -> str:
    """How many pieces of which sizes, where they are too many to be drawn with edges."""
    return ", ".join(
        f"{sum(1 for _, size in parts if size == one)} pieces of {one}"
        for one in dict.fromkeys(size for _, size in parts)
    )


def _scale_bytes(ax: Axes) -> None:
    ax.set_xscale("log", base=2)
    low, high = (np.log2(max(edge, 1.0)) for edge in ax.get_xlim())
    step = max(1, int(np.ceil((high - low) / 8)))
    ax.xaxis.set_major_locator(LogLocator(base=2.0**step, numticks=20))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(True)


def _scale_times(ax: Axes) -> None:
    decades = np.ptp(np.log10(ax.get_ylim()))
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 3 else (1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda time, _: time_text(time)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel("time")
