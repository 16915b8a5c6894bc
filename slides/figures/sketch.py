"""Pictures of boxes, arrows and words, as large as a slide: the few shapes that diagrams need.

A length is a pixel of the slide. What is drawn is computed by who draws it: partners, shards and
orders come from the library, so that a diagram cannot show what the code does not do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import to_rgb

from ddl_class.plots.svg import Drawing
from ddl_runtime.pictures.style import INK, rank_colour

WIDTH, HEIGHT = 1150, 500
STRONG, QUIET, PALE, WARM = "#332288", "#777777", "#eceaf6", "#e65400"
Place = tuple[float, float]


class Sketch:
    """A drawing that grows shape by shape; `alt` is for those who cannot see it."""

    def __init__(self, alt: str, width: float = WIDTH, height: float = HEIGHT) -> None:
        self.drawing = Drawing(width, height, alt)

    def words(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 22,
        anchor: str = "middle",
        colour: str = INK,
        bold: bool = False,
    ) -> None:
        """Lines of text around a height, from the left, in the middle or up to the right."""
        lines = text.split("\n")
        for number, line in enumerate(lines):
            at = y + 0.36 * size + 1.2 * size * (number - (len(lines) - 1) / 2)
            self.drawing.text(
                x,
                at,
                line,
                font_size=size,
                text_anchor=anchor,
                fill=colour,
                font_weight="bold" if bold else "normal",
            )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        text: str = "",
        fill: object = PALE,
        size: float = 22,
        edge: str = "none",
        bold: bool = False,
    ) -> None:
        """A box by its upper left corner, with words in its middle that stand out from it."""
        self.drawing.rect(x, y, width, height, fill=fill, stroke=edge, stroke_width=2)
        if text:
            middle = x + width / 2, y + height / 2
            self.words(*middle, text, size, colour=ink_on(fill), bold=bold)

    def arrow(
        self,
        begin: Place,
        end: Place,
        colour: object = INK,
        thick: float = 3,
        text: str = "",
        size: float = 20,
    ) -> None:
        """An arrow, with words above its middle."""
        (x, y), tip = begin, np.array(end, float)
        along = (tip - (x, y)) / np.hypot(*(tip - (x, y)))
        aside, head = np.array([-along[1], along[0]]), 9 + 2 * thick
        foot = tip - head * along
        self.drawing.line([begin, tuple(foot)], stroke=colour, stroke_width=thick)
        corners = [tip, foot + 0.5 * head * aside, foot - 0.5 * head * aside]
        self.drawing.line([tuple(corner) for corner in corners], fill=colour, stroke="none")
        if text:
            self.words((x + tip[0]) / 2, (y + tip[1]) / 2 - 0.8 * size, text, size)

    def rank(self, x: float, y: float, rank: int, radius: float = 30, text: str = "") -> None:
        """A rank as a disc of its colour, with its number or with words."""
        colour = rank_colour(rank)
        self.drawing.circle(x, y, radius, fill=colour)
        self.words(x, y, text or str(rank), 0.75 * radius, colour=ink_on(colour), bold=True)

    def unveil(self, x: float, y: float, width: float, height: float) -> None:
        """Hide what is drawn so far in a rectangle, and show it from the left to the right when
        its slide is shown; on paper nothing is hidden."""
        self.drawing.rect(x, y, width, height, fill="#ffffff", class_="curtain")


def tint(colour: object, share: float) -> tuple[float, float, float]:
    """A colour mixed with white, of which it has this share."""
    red, green, blue = (1 - share * (1 - part) for part in to_rgb(colour))
    return red, green, blue


def ink_on(fill: object) -> str:
    """Black or white, whichever can be read on a colour."""
    bright = np.dot(to_rgb(fill), (0.299, 0.587, 0.114)) if fill != "none" else 1.0
    return INK if bright > 0.55 else "#ffffff"


def round_a_circle(
    count: int, x: float, y: float, radius: float, turn: float = -0.25
) -> list[Place]:
    """Places around a middle, the first on top."""
    angles = 2 * np.pi * (np.arange(count) / count + turn)
    return [(float(x + radius * np.cos(a)), float(y + radius * np.sin(a))) for a in angles]


def between(begin: Place, end: Place, room: float) -> tuple[Place, Place]:
    """Both ends of a line, moved towards its middle by so much, to leave room for discs."""
    a, b = np.array(begin), np.array(end)
    step = room * (b - a) / np.hypot(*(b - a))
    first, last = a + step, b - step
    return (float(first[0]), float(first[1])), (float(last[0]), float(last[1]))


def bars(
    alt: str,
    rows: Sequence[tuple[str, float, str]],
    unit: str,
    marked: str = "",
    intervals: Sequence[tuple[float, float]] = (),
    left: float = 330,
    right: float = 260,
    colours: Sequence[object] = (),
) -> Drawing:
    """Bars from above to below, each with its name and number; lines are intervals."""
    sketch = Sketch(
        f"{alt}: " + "; ".join(f"{name} {text}" for name, _, text in rows) + f". {unit}"
    )
    step = (HEIGHT - 50) / len(rows)
    largest = max([size for _, size, _ in rows] + [high for _, high in intervals])
    scale = (WIDTH - left - right) / largest
    for number, (name, size, text) in enumerate(rows):
        y, high = number * step, 0.62 * step
        sketch.words(left - 14, y + high / 2, name, 21, "end")
        plain = colours[number] if colours else "#4477aa"
        sketch.box(left, y, size * scale, high, fill=WARM if name == marked else plain)
        end = size
        if intervals:
            low, end = intervals[number]
            ends = [(left + at * scale, y + high / 2) for at in (low, end)]
            sketch.drawing.line(ends, stroke=INK, stroke_width=4)
        sketch.words(left + max(size, end) * scale + 14, y + high / 2, text, 21, "start")
    sketch.words(left, HEIGHT - 24, unit, 19, "start", QUIET)
    return sketch.drawing
