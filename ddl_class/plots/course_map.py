"""The map of a course: a column for each part, a box for each unit, with what it builds on.

Arrows lead from a unit to those next to it that need it; what is farther away stands in the box
alone, where no line crosses others. The starred path runs behind the boxes and each of its units
has a star and a thick border: nothing is told by colour alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from ddl_class.plots.boxes import round_box, write
from ddl_class.plots.frame import finish
from ddl_runtime.pictures.style import Look, in_style, new_axes

WIDTH, HEIGHT = 0.8, 0.8  # of a box; one is 1 from the next
STAR, PLAIN, PATH, ARROW = "#fff3c4", "#f3f4f6", "#e6b422", "#4477aa"
LETTERS = 15  # of a title in one line

Place = tuple[float, float]


@dataclass(frozen=True)
class MappedUnit:
    """A unit on the map."""

    number: str
    title: str
    minutes: int  # for who works alone
    starred: bool
    needs: tuple[str, ...]  # the numbers of what it builds on


@in_style
def plot_course_map(parts: Mapping[str, Sequence[MappedUnit]], title: str | None = None) -> Figure:
    """All units, what leads to what, and the starred path."""
    shown = {part: stops for part, stops in parts.items() if stops}
    tallest = max(map(len, shown.values()))
    places = {
        stop.number: (column, (tallest - len(stops)) / 2 + row)
        for column, stops in enumerate(shown.values())
        for row, stop in enumerate(stops)
    }
    every = [stop for stops in shown.values() for stop in stops]
    starred = [places[stop.number] for stop in every if stop.starred]
    ax = new_axes(1.8 * len(shown), 0.98 * tallest + 1.1)
    path: Look = {"color": PATH, "linewidth": 9, "alpha": 0.75, "solid_joinstyle": "round"}
    ax.plot(*zip(*starred, strict=True), zorder=0, **path)
    for stop in every:
        here = places[stop.number]
        for there in (places[before] for before in stop.needs if before in places):
            if here[0] - there[0] == 1 or there == (here[0], here[1] - 1):
                _arrow(ax, there, here)
        _box(ax, *here, stop)
    for column, part in enumerate(shown):
        write(ax, column, -0.95, part, weight="bold", fontsize=12)
    ax.set_xlim(-0.5, len(shown) - 0.5)
    ax.set_ylim(tallest - 0.45, -1.2)
    ax.set_axis_off()
    title = title or (
        f"{len(every)} units; the first exercises of the {len(starred)} on the yellow path (★) "
        "make half a day of a class"
    )
    return finish(ax, title, _in_words(shown), title, grid="")


def _box(ax: Axes, x: float, y: float, stop: MappedUnit) -> None:
    fill, line = (STAR, 2.0) if stop.starred else (PLAIN, 0.8)
    corner = x - WIDTH / 2, y - HEIGHT / 2
    round_box(ax, *corner, WIDTH, HEIGHT, 0.08, facecolor=fill, linewidth=line, zorder=3)
    head = f"{stop.number}{' ★' if stop.starred else ''}"
    write(ax, x - 0.36, y - 0.27, head, ha="left", weight="bold", fontsize=10, zorder=4)
    write(ax, x + 0.36, y - 0.27, f"{stop.minutes} min", ha="right", fontsize=8.5, zorder=4)
    write(ax, x, y + 0.02, textwrap.fill(stop.title, LETTERS), fontsize=9.5, zorder=4)
    if stop.needs:
        write(ax, x, y + 0.29, f"after {' and '.join(stop.needs)}", fontsize=8.5, zorder=4)


def _arrow(ax: Axes, start: Place, end: Place) -> None:
    (x, y), (to_x, to_y) = start, end
    if x == to_x:
        begin, tip = (x, y + HEIGHT / 2), (x, to_y - HEIGHT / 2)
    else:
        begin, tip = (x + WIDTH / 2, y), (to_x - WIDTH / 2, to_y)
    look: Look = {"arrowstyle": "-|>", "mutation_scale": 11, "color": ARROW, "linewidth": 1.2}
    ax.add_patch(FancyArrowPatch(begin, tip, shrinkA=0, shrinkB=0, zorder=2, **look))


def _in_words(parts: Mapping[str, Sequence[MappedUnit]]) -> str:
    """The map in words."""
    sentences = []
    for part, stops in parts.items():
        units = "; ".join(
            f"{stop.number} {stop.title}, {stop.minutes} minutes"
            + (", starred" if stop.starred else "")
            + (f", after {' and '.join(stop.needs)}" if stop.needs else "")
            for stop in stops
        )
        sentences.append(f"{part}: {units}")
    return ". ".join(sentences)
