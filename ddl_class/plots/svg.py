"""A drawing as text: the few shapes that a picture which follows a slider needs.

Matplotlib takes half a second for what a browser draws in milliseconds from these lines, sharp at
any size. Lengths are pixels, y points downwards.
"""

import base64
from collections.abc import Callable, Iterable
from html import escape
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import to_hex

from ddl_runtime.pictures.style import INK

Scale = Callable[[float], float]
"""From a number to its place, in pixels."""

FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
GRID = "#e4e4e4"


class Drawing:
    """Shapes one over the other, and a text for those who cannot see them."""

    def __init__(self, width: float, height: float, alt: str = "") -> None:
        self.width = width
        self.height = height
        self.alt = alt
        self._shapes: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, **look: Any) -> None:
        self._add("rect", {"x": x, "y": y, "width": width, "height": height}, look)

    def line(self, points: Iterable[tuple[float, float]], **look: Any) -> None:
        """A polyline; a colour is given as `stroke`."""
        joined = " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
        self._add("polyline", {"points": joined, "fill": "none"}, look)

    def circle(self, x: float, y: float, radius: float, **look: Any) -> None:
        self._add("circle", {"cx": x, "cy": y, "r": radius}, look)

    def text(self, x: float, y: float, words: str, **look: Any) -> None:
        """Words whose base line begins at (x, y), or ends there with `text_anchor="end"`."""
        self._add("text", {"x": x, "y": y, "fill": INK}, look, escape(words))

    def _add(
        self, tag: str, place: dict[str, Any], look: dict[str, Any], inside: str = ""
    ) -> None:
        self._shapes.append(element(tag, inside, **{**place, **look}))

    @property
    def svg(self) -> str:
        """The drawing as the text of an SVG file."""
        size = f'width="{self.width}" height="{self.height}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-size="13" '
            f'viewBox="0 0 {self.width} {self.height}" font-family="{FONT}" role="img">'
            f"<title>{escape(self.alt)}</title>"
            f'<rect width="100%" height="100%" fill="white"/>{"".join(self._shapes)}</svg>'
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """An image with its alt text; as an image it can't meet other drawings' names."""
        data = base64.b64encode(self.svg.encode()).decode()
        size = f'width="{self.width}" height="{self.height}" style="max-width: 100%; height: auto"'
        page = f'<img src="data:image/svg+xml;base64,{data}" {size} alt="{escape(self.alt)}">'
        return {"text/html": page, "image/svg+xml": self.svg, "text/plain": self.alt}


class Frame(NamedTuple):
    """A place of a drawing for data, with an axis below it and one on its left."""

    left: float
    right: float
    top: float
    bottom: float

    def draw(self, drawing: Drawing, below: str, marks: Iterable[tuple[float, str]] = ()) -> None:
        """Both axes; words in the middle `below`, and marks there as (x, words)."""
        corners = (self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)
        drawing.line(corners, stroke=INK)
        middle = (self.left + self.right) / 2
        drawing.text(middle, self.bottom + 42, below, text_anchor="middle")
        for x, words in marks:
            drawing.line([(x, self.bottom), (x, self.bottom + 5)], stroke=INK)
            drawing.text(x, self.bottom + 20, words, text_anchor="middle")

    def mark_left(
        self, drawing: Drawing, marks: Iterable[tuple[float, str]], grid: bool = False
    ) -> None:
        """Words beside the left axis, as (y, words), and lines across if wanted."""
        for y, words in marks:
            if grid:
                drawing.line([(self.left, y), (self.right, y)], stroke=GRID)
            drawing.text(self.left - 8, y + 4.5, words, text_anchor="end")


def element(tag: str, *inside: str, **look: Any) -> str:
    """An element with its attributes: `font_size=9` is font-size, `class_="a"` is class.

    >>> element("g", element("text", "now", x=1, font_size=9), class_="name")
    '<g class="name"><text x="1" font-size="9">now</text></g>'
    """
    given = look.items()
    words = (f'{name.rstrip("_").replace("_", "-")}="{_value(value)}"' for name, value in given)
    begin, drawn = f"<{' '.join([tag, *words])}", "".join(inside)
    return f"{begin}>{drawn}</{tag}>" if drawn else f"{begin}/>"


def linear(least: float, most: float, begin: float, end: float) -> Scale:
    """A function from a number to its place between `begin` and `end`."""
    factor = (end - begin) / (most - least) if most > least else 0.0
    return lambda number: float(begin + (number - least) * factor)


def logarithmic(least: float, most: float, begin: float, end: float) -> Scale:
    """A function from a number to its place between `begin` and `end`, by its logarithm."""
    by_logarithm = linear(np.log(least), np.log(most), begin, end)
    return lambda number: by_logarithm(np.log(number))


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return to_hex(value)
    return escape(value) if isinstance(value, str) else _short(value)


def _short(number: float) -> str:
    """A length in pixels as text, rounded to a tenth."""
    return f"{number:.1f}".removesuffix(".0")
