"""The course in pictures: the map of its units, how far the learner has come, and predictions.

On the map arrows lead from a unit to those next to it that need it. Colour never says anything
alone: starred units have a star and a thick border, tiles of the progress a sign. What to look at:
the first pale tile is what comes next; and of a prediction whether only you were off, or the
formula too. Its last source is the judge.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.patches import FancyArrowPatch, Patch

from ddl_class.plots.frame import Plane, need, plane
from ddl_runtime.pictures.style import INK, Look, Picture

WIDTH, HEIGHT = 0.8, 0.8  # of a box; one is 1 from the next
STAR, PLAIN, PATH, ARROW = "#fff3c4", "#f3f4f6", "#e6b422", "#4477aa"
LETTERS = 16  # of a title in one line

Place = tuple[float, float]


@dataclass(frozen=True)
class MappedUnit:
    """A unit on the map."""

    number: str
    title: str
    minutes: int  # for a learner who works alone
    starred: bool
    needs: tuple[str, ...]  # the numbers of what it builds on


def plot_course_map(parts: Mapping[str, Sequence[MappedUnit]]) -> Picture:
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
    way = [point for pair in pairwise(starred) for point in _round_others(*pair)]
    ax = plane(height=0.98 * tallest + 1.1, width=1.8 * len(shown))
    path: Look = {"color": PATH, "linewidth": 9, "alpha": 0.75, "solid_joinstyle": "round"}
    ax.plot(*zip(*way, strict=True), zorder=0, **path)
    look: Look = {"arrowstyle": "-|>", "mutation_scale": 11, "color": ARROW, "linewidth": 1.2}
    for stop in every:
        x, y = places[stop.number]
        for before in (places[number] for number in stop.needs if number in places):
            if x - before[0] == 1:
                ends = (before[0] + WIDTH / 2, before[1]), (x - WIDTH / 2, y)
            elif before == (x, y - 1):
                ends = (x, y - 1 + HEIGHT / 2), (x, y - HEIGHT / 2)
            else:
                continue
            ax.add_patch(FancyArrowPatch(*ends, shrinkA=0, shrinkB=0, zorder=2, **look))
        _box(ax, x, y, stop)
    for column, part in enumerate(shown):
        ax.write(column, -0.95, part, weight="bold", fontsize=12)
    ax.set(xlim=(-0.5, len(shown) - 0.5), ylim=(tallest - 0.45, -1.2))
    ax.set_axis_off()
    title = f"{len(every)} units; the yellow path (★) leads through {len(starred)} of them"
    return ax.finish(title, ". ".join(map(_in_words, shown, shown.values())), title, grid="")


def _round_others(start: Place, end: Place) -> list[Place]:
    """The corners of the path between two starred units, which passes beside those between."""
    (x, y), (to_x, to_y) = start, end
    if x == to_x and to_y - y > 1:
        return [start, (x + 0.5, y), (x + 0.5, to_y), end]
    return [start, (to_x - 0.5, y), (to_x - 0.5, to_y), end] if to_x - x > 1 else [start, end]


def _box(ax: Plane, x: float, y: float, stop: MappedUnit) -> None:
    fill, line = (STAR, 2.0) if stop.starred else (PLAIN, 0.8)
    corner = x - WIDTH / 2, y - HEIGHT / 2
    ax.round_box(*corner, WIDTH, HEIGHT, 0.08, facecolor=fill, linewidth=line, zorder=3)
    head = f"{stop.number}{' ★' if stop.starred else ''}"
    ax.write(x - 0.36, y - 0.27, head, ha="left", weight="bold", fontsize=10, zorder=4)
    ax.write(x + 0.36, y - 0.27, f"{stop.minutes} min", ha="right", fontsize=8.5, zorder=4)
    ax.write(x, y + 0.02, textwrap.fill(stop.title, LETTERS), fontsize=9.5, zorder=4)
    if stop.needs:
        ax.write(x, y + 0.29, f"after {' and '.join(stop.needs)}", fontsize=8.5, zorder=4)


def _in_words(part: str, stops: Sequence[MappedUnit]) -> str:
    units = "; ".join(
        f"{stop.number} {stop.title}, {stop.minutes} minutes"
        + (", starred" if stop.starred else "")
        + (f", after {' and '.join(stop.needs)}" if stop.needs else "")
        for stop in stops
    )
    return f"{part}: {units}"


# -- progress ---------------------------------------------------------------------------------

STATES: Mapping[str, tuple[str, str, str]] = {
    "not tried": ("#f4f1e9", INK, "–"),
    "tried": ("#e69f00", INK, "…"),
    "hinted": ("#56b4e9", INK, "?"),
    "solved": ("#117733", "white", "✓"),
}
"""Each state's colour, the colour of what is written on it, and its sign."""

TILE, HEAD = 0.3, 0.5  # inches: the height of a tile, and of a unit's name above
WIDE, NAME_LETTERS, ACROSS = 2.25, 21, 4  # of a column: inches, letters; as many side by side


class Tile(NamedTuple):
    """One exercise."""

    name: str
    points: int
    state: str


class Column(NamedTuple):
    """One unit."""

    name: str
    tiles: Sequence[Tile]


def plot_progress(columns: Sequence[Column]) -> Picture:
    """The exercises of all units with their names, each in the state it is in."""
    tiles = [tile for column in columns for tile in column.tiles]
    across = max(1, min(ACROSS, len(columns)))
    bands = [columns[first : first + across] for first in range(0, len(columns), across)]
    ends = np.cumsum(
        [HEAD / TILE + 0.3 + max(len(column.tiles) for column in band) for band in bands]
    )
    height = float(ends[-1]) if bands else 0.0
    ax = plane(height=0.9 + TILE * height, width=max(5.0, WIDE * across))
    for band, end in zip(bands, ends, strict=True):
        top = end - max(len(column.tiles) for column in band)
        for place, (name, exercises) in enumerate(band):
            look: Look = {"ha": "center", "va": "bottom", "fontsize": 10.5, "fontweight": "bold"}
            ax.text(place, top - 0.1, "\n".join(textwrap.wrap(name, NAME_LETTERS)[:2]), **look)
            for row, tile in enumerate(exercises):
                colour, ink, sign = STATES[tile.state]
                ax.round_box(
                    place - 0.46, top + row + 0.08, 0.92, 0.84, 0.06,
                    facecolor=colour, linewidth=0.5,
                )  # fmt: skip
                short = textwrap.shorten(tile.name, NAME_LETTERS, placeholder="…")
                words: Look = {"va": "center", "fontsize": 10, "color": ink}
                ax.text(place - 0.42, top + row + 0.5, f"{sign} {short}", ha="left", **words)
                ax.text(place + 0.42, top + row + 0.5, str(tile.points), ha="right", **words)
    ax.set(xlim=(-0.55, across - 0.45), ylim=(height + 0.05, 0))
    ax.set_axis_off()
    legend = [
        Patch(facecolor=colour, edgecolor=INK, linewidth=0.5, label=f"{sign} {state}")
        for state, (colour, _, sign) in STATES.items()
    ]
    legend.append(Patch(alpha=0, label="a number: points"))
    ax.legend(handles=legend, ncols=3, loc="upper left", bbox_to_anchor=(0, 0), fontsize=10)
    solved = [tile for tile in tiles if tile.state == "solved"]
    earned, whole = (sum(tile.points for tile in some) for some in (solved, tiles))
    takeaway = f"{len(solved)} of {len(tiles)} exercises solved, {earned} of {whole} points"
    units = "; ".join(
        f"{name}: {', '.join(f'{tile.name} {tile.state}' for tile in own)}"
        for name, own in columns
    )
    return ax.finish("Progress over the course", takeaway, grid="", more=f"{units}.")


SOURCE_COLOURS = {
    "you": "#ee7733",
    "computed": "#333333",
    "simulated": "#009988",
    "measured": "#4477aa",
}
MARKERS = {"you": "D", "computed": "|", "simulated": "s", "measured": "o"}
OTHER = "#aa3377"
BAND = "#e8eef5"


def plot_prediction(
    predicted: float | None, truths: Mapping[str, float], quantity: str, *, close: float = 2.0
) -> Picture:
    """Draw a committed number, if there is one, beside the `truths`, by source: `computed`, ...

    The last source decides. `quantity` is what the number counts, as in "bytes".
    """
    need(truths, "nothing was found yet: give at least a measured number")
    numbers = dict(truths) if predicted is None else {"you": predicted, **truths}
    *_, (judge, truth) = truths.items()
    ax = plane(quantity, height=1.1 + 0.42 * len(numbers), width=8.0)
    least, most = min(numbers.values()), max(numbers.values())
    if least > 0:
        ax.log_scale("x", amount, subs=(1.0,) if most > 1000 * least else (1.0, 2.0, 5.0))
        ax.set_xlim(min(least, truth / close) / 1.6, max(most, truth * close) * 1.6)
        ax.axvspan(truth / close, truth * close, color=BAND, zorder=0)
    ax.axvline(truth, color=SOURCE_COLOURS.get(judge, OTHER), linewidth=1.2, linestyle=":")
    halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    for row, (name, number) in enumerate(numbers.items()):
        colour = SOURCE_COLOURS.get(name, OTHER)
        inside = "none" if name == "simulated" else colour
        look: Look = {"color": colour, "markerfacecolor": inside, "markeredgewidth": 2}
        ax.plot(number, row, MARKERS.get(name, "o"), markersize=10, **look)
        ax.note(amount(number), (number, row), (9, 0), va="center", fontsize=10, bbox=halo)
    ax.name_rows(numbers)
    words = f"You made no prediction; {judge} {amount(truth)} {quantity}"
    if predicted is not None:
        words = finding(predicted, judge, truth, quantity, close)
    listed = ", ".join(f"{name} {amount(number)}" for name, number in numbers.items())
    return ax.finish(words, f"By source: {listed} {quantity}", words, grid="")


class Outcome(NamedTuple):
    """A prediction and what was found."""

    name: str
    predicted: float
    judge: str  # the source of what was found
    truth: float
    quantity: str
    close: float  # within this factor it was a good one


EDGE = 100.0  # times too much: more is drawn there


def plot_predictions(outcomes: Sequence[Outcome]) -> Picture:
    """Draw several predictions in one picture, each as a multiple of what was found."""
    need(outcomes, "nothing was predicted and found yet: predict, and run the cells that find it")
    ax = plane("what you said, over what was found", height=1.6 + 0.5 * len(outcomes), width=8.0)
    factors = [_factor(outcome) for outcome in outcomes]
    least, most = min(0.4, *factors), max(2.5, *factors)
    ax.log_scale("x", amount, subs=(1.0,) if most > 100 * least else (1.0, 2.0, 5.0))
    ax.set_xlim(least / 1.4, most * 1.4)
    ax.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    for row, (outcome, factor) in enumerate(zip(outcomes, factors, strict=True)):
        close = outcome.close
        ax.barh(row, close - 1 / close, 0.6, 1 / close, color=BAND, zorder=0)
        for name, place in {outcome.judge: 1.0, "you": factor}.items():
            colour = SOURCE_COLOURS.get(name, OTHER)
            inside = "none" if name == "simulated" else colour
            look: Look = {"color": colour, "markerfacecolor": inside, "markeredgewidth": 2}
            ax.plot(place, row, MARKERS.get(name, "o"), markersize=9, label=name, **look)
        words = f"you {amount(outcome.predicted)}, {outcome.judge} {amount(outcome.truth)} "
        ax.note(words + outcome.quantity, (least, row), (0, 11), fontsize=9, zorder=4)
    ax.name_rows([outcome.name for outcome in outcomes])
    ax.set_ylim(len(outcomes) - 0.5, -0.7)
    handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ax.legend(handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=(1.0, 1.0))
    closes = [outcome.close for outcome in outcomes]
    good = sum(1 / k <= factor <= k for k, factor in zip(closes, factors, strict=True))
    title = f"{good} of {len(outcomes)} predictions were close"
    listed = "; ".join(
        f"{way.name}: {finding(way.predicted, way.judge, way.truth, way.quantity, way.close)}"
        for way in outcomes
    )
    return ax.finish(title, f"Predictions over findings. {listed}", title, grid="")


def _factor(outcome: Outcome) -> float:
    """How many times what was found was predicted; where one of both is 0, the edge."""
    if outcome.predicted == outcome.truth:
        return 1.0
    if outcome.truth <= 0:
        return EDGE
    return min(max(outcome.predicted / outcome.truth, 1 / EDGE), EDGE)


def finding(predicted: float, judge: str, truth: float, quantity: str, close: float) -> str:
    """How good a prediction was, in one line."""
    both = f"You said {amount(predicted)}, {judge} {amount(truth)} {quantity}"
    if predicted == truth:
        return f"{both}: exactly right"
    if predicted <= 0 or truth <= 0:
        off = f"{amount(abs(predicted - truth))} too {'high' if predicted > truth else 'low'}"
        return f"{both}: {off}"
    factor = max(predicted / truth, truth / predicted)
    if factor <= close:
        return f"{both}: within a factor of {close:g}"
    return f"{both}: {amount(factor)} times too {'high' if predicted > truth else 'low'}"


def amount(number: float) -> str:
    """A number of any size as one would write it down.

    >>> amount(50_000), amount(0.03456)
    ('50,000', '0.0346')
    """
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
