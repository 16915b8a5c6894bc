"""Pipelines: who computes what when, how long ranks idle, and what that holds in memory.

`plot_pipeline` draws one step, ranks down and time across; a number is a micro-batch, and white is
a rank that waits. `plot_idle` lays formula, simulation and measurement of the idle share over each
other; `plot_wait_and_memory` shows schedules as points: left is fast, down is small.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, PercentFormatter

from ddl_teach.plots.style import describe, in_style, new_axes, rank_colour, time_unit

PASSES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "F": ("forward", "#88ccee"),
        "B": ("backward", "#44aa99"),
        "I": ("backward, inputs", "#44aa99"),
        "W": ("backward, weights", "#ddcc77"),
    }
)
WORD = re.compile(r"(\d+)([FBIW])(\d+)")  # stage, pass, micro-batch
LETTER = 7.0  # points that a digit is wide
MOST_ROWS_NUMBERED = 32


class Spans(Protocol):
    """A timeline."""

    ranks: int

    def of(self, rank: int) -> Sequence[tuple]:
        """The spans of one rank: name, kind, start, end, ..."""


@in_style
def plot_pipeline(
    timeline: Spans, *, unit: str = "s", title: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw one step of a pipeline from the timeline of its run. `unit` is "s" for seconds, or a
    word for what one unit of time means."""
    boxes = [
        (rank, found, span[2], span[3])
        for rank in range(timeline.ranks)
        for span in timeline.of(rank)
        if (found := WORD.fullmatch(span[0]))
    ]
    if not boxes:
        raise ValueError(
            "this timeline has no passes of a pipeline: spans such as 0F3, stage 0 forward with "
            "micro-batch 3. Draw a run of `Worker`, with trace=True"
        )
    begun, end = min(box[2] for box in boxes), max(box[3] for box in boxes)
    factor, name = time_unit(end - begun) if unit == "s" else (1.0, unit)
    if ax is None:
        ax = new_axes(9.0, 1.5 + 0.33 * min(timeline.ranks, 20))
    for letter, (_, colour) in PASSES.items():
        corners = [
            [(x, rank - 0.42), (x, rank + 0.42), (y, rank + 0.42), (y, rank - 0.42)]
            for rank, found, start, stop in boxes
            for x, y in [((start - begun) * factor, (stop - begun) * factor)]
            if found[2] == letter
        ]
        line = 0.8 if len(boxes) < 2000 else 0.0
        ax.add_collection(
            PolyCollection(corners, facecolors=colour, edgecolors="white", linewidths=line)
        )
    _number(ax, boxes, begun, end, factor)
    ax.set_xlim(0, (end - begun) * factor)
    ax.set_ylim(timeline.ranks - 0.5, -0.5)
    ax.set_yticks(range(0, timeline.ranks, -(-timeline.ranks // 16)))
    ax.set_xlabel(f"time ({name})")
    ax.set_ylabel("rank")
    shown = [letter for letter in PASSES if any(found[2] == letter for _, found, _, _ in boxes)]
    patches = [Patch(facecolor=PASSES[letter][1], label=PASSES[letter][0]) for letter in shown]
    ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.2)
    busy = sum(stop - start for _, _, start, stop in boxes)
    idle = 1 - busy / ((end - begun) * timeline.ranks)
    finding = f"{timeline.ranks} ranks: {(end - begun) * factor:.4g} {name}, {idle:.0%} idle"
    ax.set_title(finding if title is None else f"{title}: {finding}")
    describe(ax.figure, f"Pipeline. {ax.get_title(loc='left')}. White is a rank that waits.")
    return ax.figure


def _number(ax: Axes, boxes: Sequence[tuple], begun: float, end: float, factor: float) -> None:
    """Write the micro-batch into each box that is wide enough for it."""
    per_second = 72 * 0.7 * ax.figure.get_size_inches()[0] / (end - begun)
    rows = 1 + max(rank for rank, *_ in boxes)
    for rank, found, start, stop in boxes if rows <= MOST_ROWS_NUMBERED else ():
        if (stop - start) * per_second > LETTER * len(found[3]):
            middle = ((start + stop) / 2 - begun) * factor
            ax.text(middle, rank, found[3], ha="center", va="center", fontsize=8)


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
    ax.plot(micro_batches, formula, color="#4477aa", label="formula")
    square = {"linestyle": "none", "marker": "s", "markersize": 9, "fillstyle": "none"}
    ax.plot(micro_batches, simulated, color="#222222", label="simulated", **square)
    if measured is not None:
        ax.plot(micro_batches, measured, "o", color="#ee6677", label="measured")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda many, _: f"{many:g}"))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_ylim(0, 1)
    ax.set_xlabel("micro-batches")
    ax.set_ylabel("idle")
    ax.grid(True)
    ax.legend()
    finding = (
        f"From {micro_batches[0]} to {micro_batches[-1]} micro-batches: idle falls from "
        f"{formula[0]:.0%} to {formula[-1]:.0%}"
    )
    ax.set_title(finding if title is None else title)
    last = "" if measured is None else f" Measured: {measured[0]:.0%} to {measured[-1]:.0%}."
    describe(ax.figure, f"Idle share over micro-batches. {ax.get_title(loc='left')}.{last}")
    return ax.figure


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
    for place, (name, (idle, most)) in enumerate(points.items()):
        marker = "osD^v"[place % 5]
        colour = rank_colour(place)
        ax.plot([idle], [most], marker, color=colour, markersize=9, linestyle="none", label=name)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    ax.set_xlim(0, 1.1 * max(idle for idle, _ in points.values()))
    ax.set_ylim(0, 1.15 * max(most for _, most in points.values()))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xlabel("idle")
    ax.set_ylabel(kept)
    ax.grid(True)
    least = min(points, key=lambda name: points[name][::-1])
    fastest = min(points, key=lambda name: points[name])
    both = f"{fastest} waits least and keeps least"
    one_each = f"{fastest} waits least, {least} keeps least, and nobody does both"
    finding = both if fastest == least else one_each
    ax.set_title(finding if title is None else title)
    told = "; ".join(
        f"{name}: idle {idle:.0%}, keeps {most:.3g}" for name, (idle, most) in points.items()
    )
    describe(ax.figure, f"Schedules. {ax.get_title(loc='left')}. {told}.")
    return ax.figure
