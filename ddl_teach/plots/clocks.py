"""Clocks beside rank 0's: how far each has walked, and how well that is known.

A dot is a reading, with the bound of its error; the line between the first and the last is what
corrects a timeline. Each rank's offset at the beginning, often of seconds and more, is taken off
and stands in the legend. What to look at: the slope is the drift; a bar longer than the way that a
clock has walked says that no drift can be seen yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_teach.plots.style import (
    describe,
    in_style,
    new_axes,
    rank_colour,
    time_text,
    time_unit,
)

MOST_NAMED = 9


class Reading(Protocol):
    """When rank 0's clock showed `at`, this one showed `ahead` more, give or take `bound`."""

    at: float
    ahead: float
    bound: float


class Clock(Protocol):
    """A rank's clock: a reading at the beginning and one at the end."""

    begin: Reading
    end: Reading
    drift: float
    bound: float


@in_style
def plot_clocks(
    clocks: Sequence[Clock], *, title: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the clocks of ranks 0, 1, ... over rank 0's time."""
    if not clocks:
        raise ValueError("nothing to draw: give the clock of at least one rank")
    ax = new_axes(9.0, 4.0) if ax is None else ax
    walked = [each.end.ahead - each.begin.ahead for each in clocks]
    reach = max([*map(abs, walked), *(each.bound for each in clocks)])
    factor, unit = time_unit(reach) if reach else (1.0, "s")
    for rank, (each, way) in enumerate(zip(clocks, walked, strict=True)):
        sign = "+" if each.begin.ahead >= 0 else "−"
        offset = f"rank {rank}: {sign}{time_text(abs(each.begin.ahead))}"
        bounds = factor * np.array([each.begin.bound, each.end.bound])
        ax.errorbar(
            [each.begin.at, each.end.at], [0, factor * way], bounds, fmt="o-", capsize=4,
            color=rank_colour(rank), label=offset if rank < MOST_NAMED else None,
        )  # fmt: skip
    ax.grid(True)
    ax.set_xlabel("rank 0's time (s)")
    ax.set_ylabel(f"walked away since the beginning ({unit})")
    ax.legend(
        title="ahead at the beginning", loc="upper left", bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
    )  # fmt: skip
    found = finding(clocks)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Clocks of ranks beside rank 0's. {found}.")
    return ax.figure


def finding(clocks: Sequence[Clock]) -> str:
    """How far apart, how fast they part, and how well that is known."""
    offsets = [each.begin.ahead for each in clocks]
    seen = [
        abs(each.drift)
        for each in clocks
        if abs(each.end.ahead - each.begin.ahead) > each.begin.bound + each.end.bound
    ]
    drift = f"drifting by up to {time_text(max(seen))} a second" if seen else "no drift to be seen"
    apart, bound = max(offsets) - min(offsets), max(each.bound for each in clocks)
    return f"Clocks are {time_text(apart)} apart, {drift}; known to {time_text(bound)}"
