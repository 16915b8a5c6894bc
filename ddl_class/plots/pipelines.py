"""Pipelines: who computes what when, how long ranks idle, and what that holds in memory.

`plot_pipeline` draws one step, ranks down and time across; a number is a micro-batch, and white is
a rank that waits. `plot_idle` lays formula, simulation and measurement of the idle share over each
other; `plot_wait_and_memory` shows schedules as points: left is fast, down is small.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.boxes import draw_boxes, write_into_boxes
from ddl_class.plots.curves import draw
from ddl_class.plots.frame import BESIDE, explain_colours, finish, in_percent, log_scale
from ddl_runtime.pictures.activity import Spans
from ddl_runtime.pictures.style import Look, in_style, new_axes, rank_colour, time_unit

PASSES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "F": ("forward", "#88ccee"),
        "B": ("backward", "#44aa99"),
        "I": ("backward, inputs", "#44aa99"),
        "W": ("backward, weights", "#ddcc77"),
    }
)
WORD = re.compile(r"(\d+)([FBIW])(\d+)")  # stage, pass, micro-batch
MOST_ROWS_NUMBERED = 32


@in_style
def plot_pipeline(
    timeline: Spans, *, unit: str = "s", title: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw one step of a pipeline from the timeline of its run. `unit` is "s" for seconds, or a
    word for what one unit of time means."""
    boxes = [
        (rank, word[2], word[3], span[2], span[3])
        for rank in range(timeline.ranks)
        for span in timeline.of(rank)
        if (word := WORD.fullmatch(span[0]))
    ]
    if not boxes:
        raise ValueError(
            "this timeline has no passes of a pipeline: spans such as 0F3, stage 0 forward with "
            "micro-batch 3. Draw a run of `Worker`, with trace=True"
        )
    rows, passes, micro_batches, starts, stops = (
        np.array(column) for column in zip(*boxes, strict=False)
    )
    begun, length = starts.min(), stops.max() - starts.min()
    factor, name = time_unit(length) if unit == "s" else (1.0, unit)
    ax = new_axes(9.0, 1.5 + 0.33 * min(timeline.ranks, 20)) if ax is None else ax
    begins, ends = (starts - begun) * factor, (stops - begun) * factor
    colours = [PASSES[letter][1] for letter in passes]
    line = 0.8 if len(boxes) < 2000 else 0.0
    draw_boxes(ax, rows, begins, ends, facecolors=colours, linewidths=line)
    if rows.max() < MOST_ROWS_NUMBERED:
        write_into_boxes(ax, rows, begins, ends, micro_batches, colours, length * factor)
    ax.set_xlim(0, length * factor)
    ax.set_ylim(timeline.ranks - 0.5, -0.5)
    ax.set_yticks(range(0, timeline.ranks, -(-timeline.ranks // 16)))
    shown = dict(PASSES[letter] for letter in PASSES if letter in passes)
    explain_colours(ax, shown, **BESIDE, handlelength=1.2)
    idle = 1 - (stops - starts).sum() / (length * timeline.ranks)
    found = f"{timeline.ranks} ranks: {length * factor:.4g} {name}, {idle:.0%} idle"
    found = found if title is None else f"{title}: {found}"
    names: Look = {"x": f"time ({name})", "y": "rank"}
    return finish(ax, "Pipeline", found, **names, grid="", more="White is a rank that waits.")


@in_style
def plot_idle(
    micro_batches: Sequence[int],
    formula: Sequence[float],
    simulated: Sequence[float],
    measured: Sequence[float] | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """The share of time that ranks idle, over the number of micro-batches."""
    ax = new_axes(7.5, 3.8) if ax is None else ax
    draw(ax, "formula", (micro_batches, formula), "#4477aa", "formula")
    draw(ax, "simulated", (micro_batches, simulated), "#222222", "simulated", markersize=9)
    last = ""
    if measured is not None:
        draw(ax, "measured", (micro_batches, measured), "#ee6677", "measured")
        last = f"Measured: {measured[0]:.0%} to {measured[-1]:.0%}."
    log_scale(ax, "x", base=2)
    in_percent(ax.yaxis)
    ax.set_ylim(0, 1)
    found = (
        f"From {micro_batches[0]} to {micro_batches[-1]} micro-batches: idle goes from "
        f"{formula[0]:.0%} to {formula[-1]:.0%}"
    )
    names: Look = {"x": "micro-batches", "y": "idle"}
    about = "Idle share over micro-batches"
    return finish(ax, about, found, title, **names, legend={}, more=last)


@in_style
def plot_wait_and_memory(
    points: Mapping[str, tuple[float, float]],
    *,
    kept: str = "micro-batches that rank 0 keeps at most",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Schedules as points: the share of the time that ranks idle, and what rank 0 keeps."""
    ax = new_axes(7.5, 4.4) if ax is None else ax
    for place, (name, point) in enumerate(points.items()):
        look: Look = {"color": rank_colour(place), "markersize": 9, "label": name}
        ax.plot(*point, "osD^v"[place % 5], **look)
    ax.set_xlim(0, 1.1 * max(idle for idle, _ in points.values()))
    ax.set_ylim(0, 1.15 * max(most for _, most in points.values()))
    in_percent(ax.xaxis)
    least = min(points, key=lambda name: points[name][::-1])
    fastest = min(points, key=lambda name: points[name])
    found = f"{fastest} waits least, {least} keeps least, and nobody does both"
    if fastest == least:
        found = f"{fastest} waits least and keeps least"
    listed = "; ".join(
        f"{name}: idle {idle:.0%}, keeps {most:.3g}" for name, (idle, most) in points.items()
    )
    return finish(
        ax, "Schedules", found, title, x="idle", y=kept, legend=BESIDE, more=f"{listed}."
    )
