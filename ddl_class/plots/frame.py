"""What every picture is made of: axes that say what they show, and draw as the course does.

A picture begins with `plane`, or with `panels`, and ends with `finish` or `finish_all`: the title
says what was found, or what the caller asks for. The text for those who cannot see it says both
what is drawn and what was found. A prediction is a line, a simulation hollow squares, a
measurement dots with their intervals.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from ddl_runtime.pictures.style import (
    ALGORITHM_COLOURS,
    INK,
    Look,
    Picture,
    describe,
    figure_of,
    in_style,
    ink_on,
    rank_colour,
)
from ddl_runtime.pictures.words import size_text, time_text

Name = TypeVar("Name")
Ends = tuple[float, float]
SAME = 1e-9  # two numbers nearer to each other, relatively, are the same

Text = Callable[[float], str]
"""How a number on an axis is written."""

Numbers = Sequence[float]
Series = Mapping[str, Numbers]
"""Numbers by the name of what they belong to."""

Curve = Sequence[Any]
"""(x, y), or with (lows, highs) as a third part."""
Curves = Mapping[str, Curve]

Palette = Sequence[Any] | Callable[[str, int], Any]
"""Colours in their order, or what gives one by a curve's name and its place among the others."""

RANKS = tuple(map(rank_colour, range(36)))
BRIGHT = tuple(ALGORITHM_COLOURS.values())
"""Colours for a few curves."""

LOOKS: Mapping[str, Look] = {
    "simulated": {"linestyle": "", "marker": "s", "markerfacecolor": "none"},
    "measured": {"linestyle": "", "marker": "o"},
}
"""What is neither of these, such as "predicted" or "computed", is a line."""

LABEL = "#aa3377"  # of words that say on what something was measured
BESIDE: Look = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
"""Where a legend lies beside the axes: within them it would cover data."""

plain: Text = "{:,.10g}".format
DIGIT = 7.0  # points that a digit is wide
AXES = 0.8  # of a picture's width, where a legend may lie beside them


def need(given: object, words: str) -> None:
    """Raise a ValueError with these `words` if nothing to draw is `given`."""
    if not given:
        raise ValueError(words)


class Plane(Axes):
    """Axes that say what they show, and draw in the look of the course in every place."""

    def finish(
        self, about: str, takeaway: str, title: str | None = None, *,
        grid: Literal["both", "x", "y", ""] = "both",
        legend: str | Mapping[str, Any] | None = None, more: str = "",
    ) -> Picture:  # fmt: skip
        """Show the `takeaway` as the title unless one is given, and say it in words.

        The words are what the picture is `about`, what was found, and `more`. The legend lies
        "beside" the axes, at another place that matplotlib has a name for, or as a mapping says.
        """
        if grid:
            self.grid(True, axis=grid)
        if legend == "beside":
            legend = BESIDE
        if legend is not None:
            self.legend(**({"loc": legend} if isinstance(legend, str) else legend))
        self.set_title(takeaway if title is None else title, wrap=True)
        return _described(self, about, takeaway, more)

    def name_ground(self, label: str) -> None:
        """Say above the right corner on what it was measured."""
        corner: Look = {"ha": "right", "va": "bottom", "transform": self.transAxes}
        self.text(1.0, 1.01, label, fontsize=8, color=LABEL, style="italic", **corner)

    @in_style
    def finish_all(
        self, about: str, takeaway: str, title: str | None = None, *, more: str = ""
    ) -> Picture:
        """Like `finish`, for all axes of the picture: the title stands above them."""
        look: Look = {"x": 0.01, "ha": "left", "weight": "bold", "size": 11.5, "wrap": True}
        self.figure.suptitle(takeaway if title is None else title, **look)
        return _described(self, about, takeaway, more)

    def log_scale(
        self,
        which: Literal["x", "y"],
        text: Text = plain,
        *,
        base: float = 10.0,
        subs: Sequence[float] = (1.0, 2.0, 5.0),
        at: Sequence[float] | None = None,
    ) -> None:
        """Make an axis logarithmic, its numbers written out by `text`.

        They stand `at` the places given, or at powers of the base, those of ten times `subs`. On
        a short axis they are closer.
        """
        (self.set_xscale if which == "x" else self.set_yscale)("log", base=base)
        axis: Axis = self.xaxis if which == "x" else self.yaxis
        if at is not None:
            axis.set_major_locator(FixedLocator(at))
            axis.set_minor_locator(NullLocator())
        else:
            low, high = self.get_xlim() if which == "x" else self.get_ylim()
            if high < 5 * low:  # else perhaps one number, or none
                subs = list(np.arange(1, 10, 0.25 if high < 2 * low else 1))
            axis.set_major_locator(LogLocator(base, subs if base == 10 else (1.0,)))
        self.write_axis(which, text)
        axis.set_minor_formatter(NullFormatter())

    def scale_sizes_and_times(self, sizes: str, times: str) -> None:
        """Make both axes logarithmic, and name them: bytes to the right, seconds upwards."""
        self.log_scale("x", size_text, base=2)
        low, high = np.log2(self.get_xlim())
        # Every second power of two, or every fourth: labels that do not touch.
        step = max(1, int(np.ceil((high - low) / 8)))
        self.xaxis.set_major_locator(LogLocator(base=2.0**step, numticks=20))
        self.set_yscale("log")
        decades = np.ptp(np.log10(self.get_ylim()))
        self.log_scale("y", time_text, subs=(1.0,) if decades > 3 else (1.0, 2.0, 5.0))
        self.grid(True)
        self.set_xlabel(sizes)
        self.set_ylabel(times)

    def write_axis(self, which: Literal["x", "y"], text: Text) -> None:
        """Write the numbers of an axis by `text`."""
        axis: Axis = self.xaxis if which == "x" else self.yaxis
        axis.set_major_formatter(FuncFormatter(lambda number, _: text(number)))

    def in_percent(self, *axes: Literal["x", "y"]) -> None:
        """Write shares on these axes as percent."""
        for which in axes:
            self.write_axis(which, lambda share: f"{100 * share:.4g}%")

    def name_rows(self, names: Collection[str]) -> None:
        """A row for each name, the first on top."""
        self.set_yticks(range(len(names)), list(names))
        self.set_ylim(len(names) - 0.5, -0.5)
        self.tick_params(axis="y", length=0)

    def explain_colours(self, colours: Mapping[str, Any], **place: Any) -> None:
        """A legend that names colours; beside the axes unless another place is given."""
        patches = [Patch(facecolor=colour, label=name) for name, colour in colours.items()]
        self.legend(handles=patches, **(place or BESIDE))

    def note(
        self, words: str, at: tuple[float, float], by: tuple[float, float] = (4, 0), **look: Any
    ) -> None:
        """Words beside a place of the data, shifted from it `by` (x, y) points."""
        look = {"color": INK, "fontsize": 9, **look}
        self.annotate(words, at, by, textcoords="offset points", **look)

    def mark(
        self, x: float, words: str = "", up: float = 0.97, ha: str = "left", **line: Any
    ) -> None:
        """A vertical line with words beside it, `up` as a share of the picture's height. `ha` says
        which end of the words is at the line."""
        self.axvline(x, **{"color": INK, "linestyle": ":", "linewidth": 1.2, **line})
        place: Look = {"xycoords": ("data", "axes fraction"), "va": "top"}
        by = {"left": 4, "center": 0, "right": -4}[ha]
        self.note(words, (x, up), (by, 0), fontsize=8.5, ha=ha, **place)

    # -- curves: a prediction is a line, a simulation hollow squares, a measurement dots ----------

    def draw_curve(
        self, ground: str, curve: Curve | None, colour: Any, label: str | None = None, **look: Any
    ) -> None:
        """Draw a curve, if there is one, as what it is: "simulated", "measured" or predicted."""
        if curve is None:
            return
        x, y, *intervals = curve
        self.plot(x, y, **{**LOOKS.get(ground, {}), "color": colour, "label": label, **look})
        for lows, highs in intervals:
            self.vlines(x, lows, highs, color=colour, linewidth=3, alpha=0.5)

    def draw_lines(self, curves: Curves, palette: Palette = RANKS, **look: Any) -> None:
        """A line with its name for each curve, whatever ground it comes from."""
        self.draw_all({"": curves}, palette, "{name}", **look)

    def draw_runs(
        self, runs: Mapping[str, Any], palette: Palette = RANKS, first: int = 0, **look: Any
    ) -> None:
        """Like `draw_lines`, for the values of runs over the numbers of their steps."""
        curves = {name: (range(first, first + len(run)), run) for name, run in runs.items()}
        self.draw_lines(curves, palette, **look)

    def draw_all(
        self,
        grounds: Mapping[str, Curves | None],
        palette: Palette = RANKS,
        label: str | Mapping[str, str] = "{name}, {ground}",
        **look: Any,
    ) -> dict[str, Any]:
        """Draw curves by their ground and name, and return each name's colour.

        `label` is the pattern of a curve's words, or that of each ground that has some.
        """
        names = dict.fromkeys(name for curves in grounds.values() for name in curves or ())
        colours = {
            name: palette(name, place) if callable(palette) else palette[place % len(palette)]
            for place, name in enumerate(names)
        }
        for ground, curves in grounds.items():
            pattern = label if isinstance(label, str) else label.get(ground, "")
            for name, curve in (curves or {}).items():
                words = pattern.format(name=name, ground=ground) or None
                self.draw_curve(ground, curve, colours[name], words, **look)
        return colours

    @in_style
    def explain(self, colours: Mapping[str, Any], grounds: Iterable[str], **place: Any) -> None:
        """A legend that says what the colours are, and then what lines, squares and dots are."""
        names = [
            Line2D([], [], color=colour, linewidth=4, label=name)
            for name, colour in colours.items()
        ]
        marks = [
            Line2D([], [], color=INK, label=colour, **LOOKS.get(colour, {})) for colour in grounds
        ]
        self.legend(handles=names + marks, **(place or BESIDE))

    # -- boxes, tables and words ------------------------------------------------------------------

    def write(self, x: float, y: float, words: object, **look: Any) -> None:
        """Words around a place; the keyword `on` is the colour of what lies below them."""
        if "on" in look:
            look["color"] = ink_on(look.pop("on"))
        self.text(x, y, str(words), **{"ha": "center", "va": "center", "fontsize": 8, **look})

    def draw_boxes(
        self, rows: Iterable[float], begins: Iterable[float], ends: Iterable[float],
        half: float = 0.42, words: Iterable[object] = (), reach: float = 1.0, **look: Any,
    ) -> None:  # fmt: skip
        """A box in a row for each begin and end, `half` a row high above and below its middle.

        A box shows its `words` if it is wide enough for them; `reach` is the length of the axes.
        """
        corners = [
            [(begin, row - half), (begin, row + half), (end, row + half), (end, row - half)]
            for row, begin, end in zip(rows, begins, ends, strict=True)
        ]
        self.add_collection(PolyCollection(corners, **{"edgecolors": "white", **look}))
        points = 72 * AXES * figure_of(self).get_figwidth() / reach
        colours = look["facecolors"]
        for row, begin, end, text, colour in zip(rows, begins, ends, words, colours, strict=False):
            if (end - begin) * points > DIGIT * len(str(text)):
                self.write((begin + end) / 2, row, text, on=colour)

    def round_box(
        self, x: float, y: float, width: float, height: float, radius: float, **look: Any
    ) -> None:
        """A box with round corners, by its lower left corner."""
        style = f"round,pad=0,rounding_size={radius}"
        look = {"edgecolor": INK, **look}
        self.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, **look))

    def write_numbers_into(self, table: np.ndarray, dark_below: float, **look: Any) -> None:
        """A whole number into each cell that has one, white on what is dark: less than so much."""
        for (row, column), number in np.ndenumerate(table):
            if np.isfinite(number):
                ink = INK if number >= dark_below else "white"
                self.write(column, row, f"{number:.0f}", color=ink, **look)

    def part_pixels(self, shape: tuple[int, ...], width: float) -> None:
        """White lines between the pixels of an image of this shape, in place of ticks."""
        self.set(xticks=[], yticks=[])
        self.set_xticks(np.arange(1, shape[1]) - 0.5, minor=True)
        self.set_yticks(np.arange(1, shape[0]) - 0.5, minor=True)
        self.grid(True, which="minor", color="white", linewidth=width)
        self.tick_params(which="both", length=0)
        self.set_axisbelow(False)


for _name in "plot step scatter errorbar axhline axvline legend grid set_title".split():
    setattr(Plane, _name, in_style(getattr(Axes, _name)))


def plane(x: str = "", y: str = "", height: float = 4.2, width: float = 9.0) -> Plane:
    """Empty axes with their names, in a picture of `width` by `height` inches."""
    [ax] = panels(width, height)
    ax.set(xlabel=x, ylabel=y)
    return ax


@in_style
def panels(
    width: float, height: float, rows: int = 1, columns: int = 1, **how: Any
) -> list[Plane]:
    """Axes in one picture, row by row; sizes in inches, `how` as for matplotlib's subplots."""
    look: Look = {"squeeze": False, "subplot_kw": {"axes_class": Plane}}
    return list(Picture(figsize=(width, height)).subplots(rows, columns, **look, **how).ravel())


def _described(ax: Plane, about: str, takeaway: str, more: str) -> Picture:
    picture, words = figure_of(ax), f"{about.rstrip('.')}. {takeaway.rstrip('.')}. {more}"
    assert isinstance(picture, Picture)  # as `panels` makes them
    describe(picture, " ".join(words.split()))
    return picture


def counted(number: int, what: str) -> str:
    """How many of what there are.

    >>> counted(1, "turn"), counted(2_000, "rank")
    ('1 turn', '2,000 ranks')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def listed(names: Iterable[object]) -> str:
    """Names as a sentence has them.

    >>> listed(["ring"]), listed(["ring", "tree", "server"])
    ('ring', 'ring, tree and server')
    """
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last


def extremes(numbers: Mapping[str, float]) -> tuple[str, str]:
    """The names of the least and of the largest number."""
    return min(numbers, key=numbers.__getitem__), max(numbers, key=numbers.__getitem__)


def each_end(numbers: Mapping[str, float]) -> dict[str, float]:
    """The least and the largest number by their names: one where there is only one."""
    return {name: numbers[name] for name in extremes(numbers)}


def least(
    numbers: Mapping[Name, float], intervals: Mapping[Name, Ends] | None = None
) -> list[Name]:
    """The name of the least number, and the names of those that do not differ from it.

    With intervals these are those whose interval meets its.

    >>> least({"ring": 1.0, "tree": 1.0, "server": 2.0})
    ['ring', 'tree']
    >>> least({"ring": 1.0, "tree": 1.1}, {"ring": (0.9, 1.2), "tree": (1.0, 1.3)})
    ['ring', 'tree']
    """
    best = min(numbers, key=numbers.__getitem__)
    ends = intervals or {}
    _, limit = ends.get(best, (0.0, numbers[best]))
    return [name for name in numbers if ends.get(name, (numbers[name],))[0] <= limit * (1 + SAME)]
