"""Which rank waits for which: ranks in a circle, an arrow from each to the one it waits for.

Beside each rank stands the call in which it waits, and where that is. Red arrows close a ring:
no rank in it can go on. Pale ranks have returned and will send nothing more.
"""

import math
from collections.abc import Sequence
from textwrap import shorten

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.path import Path

from ddl_runtime.diagnosis.waits import Wait
from ddl_runtime.pictures.style import (
    WRONG,
    Look,
    describe,
    figure_of,
    in_style,
    ink_on,
    new_axes,
    rank_colour,
)

MOST_RANKS = 12  # drawn; the rest is only counted
MOST_ARROWS = 3  # from a rank that waits for any of several
MOST_LETTERS = 48  # of where a rank waits
NODE = 0.15  # radius of a rank; that of the circle is 1
CLOSED, OPEN, GONE = WRONG, "#777777", "#dddddd"

Place = tuple[float, float]


@in_style
def plot_waits(waits: Sequence[Wait], cycle: Sequence[int]) -> Figure:
    """Draw waits and the ring among them, a list of ranks each waiting for the next."""
    if not waits:
        raise ValueError("no rank waits: there is nothing to draw")
    by_rank = {wait.rank: wait for wait in waits}
    everybody = [*cycle, *by_rank, *(peer for wait in waits for peer in wait.peers)]
    shown = list(dict.fromkeys(everybody))[:MOST_RANKS]
    # The first at the left: words beside the ranks have most room on both sides.
    turns = {rank: math.pi - 2 * math.pi * place / len(shown) for place, rank in enumerate(shown)}
    places = {rank: (math.cos(turn), math.sin(turn)) for rank, turn in turns.items()}
    half = 0.6 if len(shown) < 3 else 1.6  # two lie side by side
    ax = new_axes(9.0, 0.4 + 1.3 * 2 * half)
    ax.set_axis_off()
    ax.set(aspect="equal", xlim=(-3.2, 3.2), ylim=(-half, half))
    following = dict(zip(cycle, [*cycle[1:], *cycle[:1]], strict=True))
    for rank, place in places.items():
        wait = by_rank.get(rank)
        targets = [peer for peer in wait.peers if peer in places] if wait else []
        for peer in targets[:MOST_ARROWS]:
            _draw_arrow(ax, place, places[peer], closed=following.get(rank) == peer)
        _draw_rank(ax, rank, place, wait)
    left_out = len(set(by_rank) - set(shown))
    if left_out:
        ax.text(-3.2, -half, f"and {left_out:,} more ranks that wait", color=OPEN)
    takeaway = finding(waits, cycle)
    ax.set_title(takeaway)
    figure = figure_of(ax)
    describe(figure, f"{takeaway}. {in_words(waits)}")
    return figure


def finding(waits: Sequence[Wait], cycle: Sequence[int]) -> str:
    """What keeps all ranks waiting, in one line."""
    if len(cycle) == 1:
        return f"Rank {cycle[0]} waits for itself"
    if cycle:
        shown = " → ".join(map(str, cycle[:MOST_RANKS]))
        ring = f"{shown} → {cycle[0]}" if len(cycle) <= MOST_RANKS else f"{shown} → ..."
        return f"{len(cycle):,} ranks wait for each other in a ring: {ring}"
    who = f"rank {waits[0].rank} waits" if len(waits) == 1 else f"{len(waits):,} ranks wait"
    return f"{who[0].upper()}{who[1:]} for what can never come"


def in_words(waits: Sequence[Wait]) -> str:
    """The arrows, for those who cannot see them."""
    lines = []
    for wait in waits[:MOST_RANKS]:
        peers = " or ".join(f"rank {peer}" for peer in wait.peers[:4])
        more = " or another" if len(wait.peers) > 4 else ""
        lines.append(f"Rank {wait.rank} waits for {peers}{more} in {wait.call}.")
    if len(waits) > MOST_RANKS:
        lines.append(f"And {len(waits) - MOST_RANKS:,} more ranks wait.")
    return " ".join(lines)


def _draw_rank(ax: Axes, rank: int, place: Place, wait: Wait | None) -> None:
    """A rank, and outside of the circle the call in which it waits."""
    x, y = place
    colour = rank_colour(rank) if wait is not None else to_rgb(GONE)
    ax.add_patch(Circle(place, NODE, facecolor=colour, edgecolor="white", zorder=3))
    middle: Look = {"ha": "center", "va": "center", "fontweight": "bold", "zorder": 4}
    ax.text(x, y, str(rank), color=ink_on(colour), **middle)
    side = 0 if abs(x) < 0.2 else math.copysign(1, x)
    beside = "left" if side > 0 else "right" if side else "center"
    below = "center" if side else "bottom" if y > 0 else "top"
    look: Look = {"ha": beside, "va": below, "linespacing": 1.4}
    at = x + 1.5 * NODE * side, y if side else y + math.copysign(1.4 * NODE, y)
    if wait is None:
        ax.text(*at, "has returned", color=OPEN, **look)
        return
    call, _, rest = wait.call.partition(" of ")
    where = shorten(wait.where or rest, MOST_LETTERS, placeholder=" ...")
    ax.text(*at, f"{call}\n{where}", **look)


def _draw_arrow(ax: Axes, begin: Place, end: Place, *, closed: bool) -> None:
    """Draw an arrow inside of the circle, from a rank's rim to that of the rank it waits for."""
    start, tip = np.array(begin), np.array(end)
    if begin == end:
        inwards, aside = -start, np.array([start[1], -start[0]])
        bends = [start + 0.8 * (inwards + aside), start + 0.8 * (inwards - aside)]
        codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    else:
        # Bent to one side: two ranks that wait for each other have an arrow each.
        along = tip - start
        bends = [(start + tip) / 2 + 0.15 * np.array([along[1], -along[0]])]
        codes = [Path.MOVETO, Path.CURVE3, Path.CURVE3]
    path = Path([_rim(start, bends[0]), *bends, _rim(tip, bends[-1])], codes)
    look: Look = {"color": CLOSED if closed else OPEN, "linewidth": 2.2 if closed else 1.2}
    head: Look = {"arrowstyle": "-|>", "mutation_scale": 16, "shrinkA": 0, "shrinkB": 0}
    ax.add_patch(FancyArrowPatch(path=path, zorder=2 if closed else 1, **head, **look))


def _rim(rank: np.ndarray, towards: np.ndarray) -> np.ndarray:
    way = towards - rank
    return np.asarray(rank + way * NODE * 1.1 / np.hypot(*way))
