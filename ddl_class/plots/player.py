"""The player of a moving picture: one piece of a page that needs no kernel and no network.

Play, pause, step, slow and a slider; or by keys: space, arrows, Home, End. Where no script runs,
on paper and in an image, the strip of all steps stands in its place; readers whose system asks for
less motion get steps without any. `save` writes a page, or an SVG that moves by itself.
"""

import base64
import gzip
import json
import re
import textwrap
from functools import cached_property
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from uuid import uuid4

from ddl_class.plots.frame import need
from ddl_class.plots.moving import LONGEST, REST, Film, FilmStage
from ddl_class.plots.svg import FONT, element
from ddl_runtime.pictures.style import WRONG
from ddl_runtime.pictures.words import time_unit

HERE = Path(__file__)
MOST_BOXES, PANEL, WIDE = 1280, 300, 960  # of the strip of all steps: boxes, pixels
ROW = 17  # pixels of a line of words
NIGHT = "--edge: #9a9a9a; --red: #ff7b72; --lift: drop-shadow(0 0 1.5px #ddd)"
DARK = f"--ink: #e8e8e8; --paper: #161616; --empty: #3a3a3a; {NIGHT}"
# Colours of the page around it: of JupyterLab's theme, of the book's white outputs, or of paper.
COLOURS = {"wrong": WRONG, "night": NIGHT, "font": FONT}
STYLE = Template(HERE.with_suffix(".css").read_text("utf-8")).substitute(COLOURS)
LINES = map(str.strip, HERE.with_suffix(".js").read_text("utf-8").splitlines())
SCRIPT = "\n".join(line for line in LINES if not line.startswith("//"))
PAGE = HERE.with_suffix(".html").read_text("utf-8")
ALONE = HERE.with_name("player_alone.html").read_text("utf-8")


class MovingPicture:
    """A film that a page plays, above the strip of all its steps; perhaps shown `from_end`."""

    def __init__(self, film: Film, steps: Any = None, *, from_end: bool = False) -> None:
        self.film = film
        self.steps = steps
        self.from_end = from_end

    @property
    def alt(self) -> str:
        """All steps in words."""
        return f"{self.film.title}. {' '.join(words for _, words in self.film.stops)}"

    def svg(self, longest: float = LONGEST) -> str:
        """A file that moves by itself, again and again, in the colours that its reader prefers; a
        round takes `longest` seconds at most. The last step shows why the program went wrong."""
        name = _new_name()
        story = self.film.story.splitlines()
        read = min(3 * REST if story else REST, 0.4 * longest)
        again = f"{name}.begin+"
        stage = FilmStage(self.film, name, again=again, rest=read, longest=longest - read)
        seconds = f"{stage.seconds + read:.3f}s"
        clock = {"attributeName": "visibility", "values": "visible", "dur": seconds}
        begin = {"id": name, "begin": f"0s;{name}.end"}
        lines = textwrap.wrap(self.film.title, int(stage.width / 7.4))
        title = [
            element("text", escape(line), x=stage.width / 2, y=18 + ROW * row, class_="mv-b")
            for row, line in enumerate(lines)
        ]
        down = 12 + ROW * len(lines)
        reasons = [
            element("text", escape(line), x=8, y=stage.height + ROW * (row + 1), class_="mv-code")
            for row, line in enumerate(story)
        ]
        drawn = stage.drawn() + stage.part("".join(reasons), self.film.stops[-1][0])
        inside = element("g", drawn, transform=f"translate(0 {down})")
        style = f"{STYLE}@media (prefers-color-scheme: dark) {{ .moving {{ {DARK} }} }}"
        high = stage.height + down + ROW * (len(story) + 1)
        return _svg(
            stage.width, high, element("title", escape(self.alt)),
            element("style", style), element("animate", **clock, **begin), *title, inside,
        )  # fmt: skip

    def page(self) -> str:
        """The player as a piece of a page, which loads nothing from elsewhere."""
        name = _new_name()
        stage = FilmStage(self.film, name)
        factor, unit = time_unit(self.film.end)
        svg = _svg(stage.width, stage.height, stage.drawn())
        data = {
            "stops": [[round(time * stage.scale, 4), words] for time, words in self.film.stops],
            "seconds": stage.seconds,
            "begin": stage.seconds if self.from_end else 0,
            "factor": factor / stage.scale,
            "unit": unit,
            # A page of 16 ranks would have more than a megabyte of alike lines.
            "svg": _base64(gzip.compress(svg.encode(), mtime=0)),
        }
        story = f"<pre>{escape(self.film.story)}</pre>" if self.film.story else ""
        # "</" would end the script that the data stand in.
        written = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
        return PAGE.format(
            name=name, style=STYLE, width=stage.width, title=escape(self.film.title),
            red=' style="color: var(--red)"' if self.film.wrong else "", story=story,
            seconds=stage.seconds, strip=_base64(self.strip.encode()), alt=escape(self.alt),
            script=SCRIPT, data=written,
        )  # fmt: skip

    @cached_property
    def strip(self) -> str:
        """The ends of all steps side by side as an SVG; of many steps of large vectors some."""
        film = self.film
        most = max(2, MOST_BOXES // max(film.ranks * max(film.chunks, 1), 1))
        every = -(-len(film.stops) // most)
        shown = [*range(0, len(film.stops) - 1, every), len(film.stops) - 1]
        stage, panels = FilmStage(film, _new_name()), []
        factor = min(1.0, PANEL / stage.right)
        width, height = stage.right * factor, stage.floor * factor + 24
        across = int(WIDE // width)
        for place, number in enumerate(shown):
            panel = FilmStage(film, stage.name, at=film.stops[number][0])
            words = f"step {number}" if number else "before"
            drawn = element("text", words, y=14, x=width / 2)
            small = f"translate(0 20) scale({factor:.3f})"
            drawn += element("g", panel.picture(), transform=small)
            x, y = place % across * width, place // across * height
            panels.append(element("g", drawn, transform=f"translate({x:.0f} {y:.0f})"))
        whole = "".join(panels)
        symbols = stage.symbols(only=set(re.findall(r'"#(\w+)"', whole)))
        size = min(len(shown), across) * width + 8, -(-len(shown) // across) * height
        return _svg(*size, element("style", STYLE), symbols, whole)

    def save(self, path: str | Path, longest: float = LONGEST) -> Path:
        """Write a file that needs nothing else: a page (.html) to play, or an SVG that moves and
        begins again after `longest` seconds at most."""
        path = Path(path)
        known = f"a moving picture is saved as .html or .svg, not as {path.name}"
        need(path.suffix in {".html", ".svg"}, known)
        drawn = self.svg(longest) if path.suffix == ".svg" else self._alone()
        path.write_text(drawn, encoding="utf-8")
        return path

    def _alone(self) -> str:
        title = escape(self.film.title)
        return ALONE.format(title=title, font=FONT, dark=DARK, page=self.page())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.page(), "image/svg+xml": self.strip, "text/plain": self.alt}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _new_name() -> str:
    return f"m{uuid4().hex[:5]}"


def _svg(width: float, height: float, *inside: str) -> str:
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="moving" {box}>{"".join(inside)}</svg>'
