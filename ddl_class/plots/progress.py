"""How far the learner has come: units across, their exercises below each other.

A tile is an exercise; its colour, and a sign for those who see no colours, says whether it was
tried, helped by a hint, or solved. What to look at: the first pale tile is what comes next.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ddl_class.plots.boxes import round_box
from ddl_class.plots.frame import finish
from ddl_runtime.pictures.style import INK, Look, in_style, new_axes

STATES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "not tried": ("#f4f1e9", INK, "–"),
        "tried": ("#e69f00", INK, "…"),
        "hinted": ("#56b4e9", INK, "?"),
        "solved": ("#117733", "white", "✓"),
    }
)
"""Each state's colour, the colour of what is written on it, and its sign."""

TILE, HEAD = 0.42, 0.62  # inches: the height of a tile, and of a unit's name above
WIDEST, NAMED, WHOLE = 1.95, 1.2, 11.0  # inches: of a column, of one with names; of all columns


class Tile(NamedTuple):
    """One exercise."""

    name: str
    points: int
    state: str


class Column(NamedTuple):
    """One unit."""

    name: str
    tiles: Sequence[Tile]


@in_style
def plot_progress(columns: Sequence[Column], *, ax: Axes | None = None) -> Figure:
    """The exercises of all units, each in the state it is in."""
    tiles = [tile for column in columns for tile in column.tiles]
    width = min(WIDEST, WHOLE / max(len(columns), 1))
    rows = max((len(column.tiles) for column in columns), default=0)
    if ax is None:
        ax = new_axes(max(5.0, width * len(columns)), 0.9 + HEAD + TILE * rows)
    letters = int(width * 11) if width >= NAMED else 3  # signs and numbers only
    for place, (name, exercises) in enumerate(columns):
        lines = textwrap.wrap(name, letters)[: 2 if width >= NAMED else 1]
        look: Look = {"ha": "center", "va": "bottom", "fontsize": 9, "fontweight": "bold"}
        ax.text(place, -0.3, "\n".join(lines), **look)
        for row, tile in enumerate(exercises):
            _draw(ax, place, row, tile, letters)
    ax.set_xlim(-0.55, max(len(columns), 1) - 0.45)
    ax.set_ylim(rows + 0.05, -0.3 - HEAD / TILE)
    ax.set_axis_off()
    legend = [
        Patch(facecolor=colour, edgecolor=INK, linewidth=0.5, label=f"{sign} {state}")
        for state, (colour, _, sign) in STATES.items()
    ]
    ax.legend(handles=legend, ncols=4, loc="upper left", bbox_to_anchor=(0, 0.02), fontsize=8)
    solved = [tile for tile in tiles if tile.state == "solved"]
    earned, whole = (sum(tile.points for tile in some) for some in (solved, tiles))
    found = f"{len(solved)} of {len(tiles)} exercises solved, {earned} of {whole} points"
    units = "; ".join(
        f"{name}: {', '.join(f'{tile.name} {tile.state}' for tile in own)}"
        for name, own in columns
    )
    return finish(ax, "Progress over the course", found, grid="", more=f"{units}.")


def _draw(ax: Axes, place: int, row: int, tile: Tile, letters: int) -> None:
    colour, ink, sign = STATES[tile.state]
    round_box(ax, place - 0.46, row + 0.08, 0.92, 0.84, 0.06, facecolor=colour, linewidth=0.5)
    name = textwrap.shorten(tile.name, letters, placeholder="…") if letters > 3 else ""
    words: Look = {"va": "center", "fontsize": 8, "color": ink}
    ax.text(place - 0.42, row + 0.5, f"{sign} {name}", ha="left", **words)
    ax.text(place + 0.42, row + 0.5, str(tile.points), ha="right", **words)
