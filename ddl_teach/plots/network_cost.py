"""What each part of a network costs: seconds forward and backward, and the memory it held.

Bars are medians, the thin lines on them 95% intervals. What to look at: the longest bar on the
left and the longest on the right are seldom those of the same part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from ddl_teach.plots.style import (
    INK,
    Picture,
    describe,
    in_style,
    rank_colour,
    size_text,
    time_text,
    time_unit,
)

FORWARD, BACKWARD = rank_colour(0), rank_colour(3)


class Part(Protocol):
    """Its name; times with median, low and high; peak bytes. `None`: there was no way back."""

    name: str
    forward: Any
    backward: Any
    forward_bytes: int
    backward_bytes: int | None


@in_style
def plot_network_cost(parts: Sequence[Part], *, title: str | None = None) -> Figure:
    """Draw the parts of a network in their order, from the top."""
    if not parts:
        raise ValueError("nothing to draw: give at least one part")
    figure = Picture(figsize=(9.0, 1.6 + 0.34 * len(parts)))
    left, right = figure.subplots(1, 2, sharey=True)
    factor, unit = time_unit(
        max(side.high for part in parts for side in (part.forward, part.backward) if side)
    )
    for shift, side, colour in ((-0.2, "forward", FORWARD), (0.2, "backward", BACKWARD)):
        there = [number for number, part in enumerate(parts) if getattr(part, side) is not None]
        if not there:
            continue
        rows, own = np.array(there) + shift, [parts[number] for number in there]
        times = factor * np.array(
            [[getattr(part, side).median, getattr(part, side).low, getattr(part, side).high]
             for part in own]
        )  # fmt: skip
        left.barh(rows, times[:, 0], 0.38, color=colour, label=side)
        left.hlines(rows, times[:, 1], times[:, 2], color=INK, linewidth=1.0)
        right.barh(rows, [getattr(part, f"{side}_bytes") for part in own], 0.38, color=colour)
    left.set_yticks(range(len(parts)), [part.name for part in parts])
    left.invert_yaxis()
    left.set_xlabel(f"time ({unit})")
    right.set_xlabel("memory held at most")
    right.xaxis.set_major_formatter(FuncFormatter(lambda nbytes, _: size_text(nbytes)))
    largest = max(8, *map(_held, parts))
    right.xaxis.set_major_locator(MultipleLocator(2 ** np.ceil(np.log2(largest / 6))))
    left.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.0)
    for ax in (left, right):
        ax.grid(True, axis="x")
    found = finding(parts)
    figure.suptitle(found if title is None else title, x=0.01, ha="left", weight="bold", size=11.5)
    describe(figure, f"Time and memory of each part. {found}.")
    return figure


def finding(parts: Sequence[Part]) -> str:
    """Who takes the most time and who the most memory, in one line."""

    def seconds(part: Part) -> float:
        return part.forward.median + (0 if part.backward is None else part.backward.median)

    slow, large = max(parts, key=seconds), max(parts, key=_held)
    share = seconds(slow) / sum(map(seconds, parts))
    return (
        f"{slow.name} takes {time_text(seconds(slow))}, {share:.0%} of the time; {large.name} "
        f"holds {size_text(_held(large))}"
    )


def _held(part: Part) -> int:
    return max(part.forward_bytes, part.backward_bytes or 0)
