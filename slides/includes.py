"""What a deck takes from the library: functions, figures, numbers, exercises.

In a deck these stand in double braces and are called when it is built:

    {{ code("ddl_teach.collectives.ring.allreduce") }}   the function as it is today
    {{ figure("communication.ring") }}                   a picture that slides/figures/ draws
    {{ moving("communication.moving", "ring", 4) }}      a picture that plays, from there too
    {{ value("communication.crossover") }}               a number or a few words, computed there
    {{ exercise("06.ring") }}                            where it belongs, with its minutes
    {{ clicker("06.ring_bytes") }}                       a question of the bank: a whole slide

A name that is not there ends the build with what is there instead: a slide cannot drift.
"""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import io
import re
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import matplotlib

from ddl_class.exercises.registry import find_exercise
from ddl_class.plots.svg import Drawing
from ddl_class.retrieval.bank import LETTERS, items
from ddl_runtime.pictures.style import Picture

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES = 24  # of code that can be read from the last row
SHAPE, FLAT = (8.8, 4.0), (8.8, 3.3)  # inches of a plot: then it fills what a heading leaves


class IncludeError(Exception):
    """A deck asks for what is not there."""


def code(name: str, docstring: bool = False, beside: bool = False) -> str:
    """The source of a function or class, without its docstring unless asked for; letters are
    smaller `beside` a figure."""
    thing = _find(name)
    source = textwrap.dedent(inspect.getsource(thing))
    if not docstring:
        source = _without_docstring(source)
    lines = source.rstrip().splitlines()
    if len(lines) > MOST_LINES:
        raise IncludeError(
            f'code("{name}") has {len(lines)} lines, and a slide holds {MOST_LINES}: include a '
            "smaller function, or split this one"
        )
    place = Path(inspect.getsourcefile(thing)).relative_to(ROOT)
    shown = "\n".join(lines)
    where = " beside" if beside else ""
    return f'\n```python{where}\n{shown}\n```\n\n<p class="place">{place}</p>\n'


def figure(name: str, *arguments: Any) -> str:
    """A picture as SVG, whose text stays text; it must have a text for those who cannot see it."""
    picture = _made(name, *arguments)
    if not getattr(picture, "alt", ""):
        raise IncludeError(f'figure("{name}") is no picture with a text: see plots.style.describe')
    drawing = picture.svg if isinstance(picture, Drawing) else _as_svg(picture)
    # Its size is the slide's business, and a blank line would end it, for Markdown.
    unsized = re.sub(r' (width|height)="[\d.]+(pt)?"', "", drawing, count=2)
    one_block = re.sub(r"\n\s*", " ", unsized)
    label = html.escape(picture.alt)
    return f'\n<figure role="img" aria-label="{label}">{one_block}</figure>\n'


def _as_svg(picture: Picture) -> str:
    file = io.StringIO()
    if len(picture.axes) == 1:  # several are as wide as their titles
        width, height = picture.get_size_inches()
        picture.set_size_inches(*(FLAT if width > 2.6 * height else SHAPE))
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.alt}):
        picture.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()[file.getvalue().index("<svg") :]


def moving(name: str, *arguments: Any) -> str:
    """A moving picture with its buttons; on paper the strip of its steps."""
    # A blank line would end it, for Markdown.
    return re.sub(r"\n\s*\n", "\n", _made(name, *arguments).page())


def value(name: str, *arguments: Any) -> str:
    """What a function of slides/figures/ returns, as text."""
    return str(_made(name, *arguments))


def exercise(*names: str) -> str:
    """A pointer to exercises of one unit's notebook, with the minutes that they take."""
    found = [find_exercise(name) for name in names]
    (unit,) = {one.unit for one in found}
    titles = ", ".join(f"“{html.escape(one.title)}”" for one in found)
    minutes = " + ".join(str(one.minutes) for one in found)
    return f'<p class="exercise">Now you: unit {unit}, {titles} <span>{minutes} minutes</span></p>'


def clicker(name: str) -> str:
    """A question of the bank as a slide; its notes say what each wrong answer believes."""
    [item] = [each for each in items(name[:2]) if each.name == name]
    answers = dict(zip(LETTERS, item.options(Random(name)), strict=False))
    [right] = [letter for letter, text in answers.items() if text == item.answer]
    choices = "".join(
        f"<li><b>{letter}</b> {html.escape(text)}</li>" for letter, text in answers.items()
    )
    replies = [
        f"{letter} believes that {wrong.mistake}: {wrong.reply}"
        for letter, text in answers.items()
        if letter != right
        for wrong in [item.distractor(text)]
    ]
    question = " ".join(item.question.split())
    notes = (
        f"Ask all to choose before anybody speaks: a minute alone, a minute with a neighbour, "
        f"then choose again. {right} is right. {' '.join(replies)}"
    )
    return (
        f'## {question}\n\n<ul class="choices">{choices}</ul>\n\n'
        f"<!-- Notes, 3 minutes: {notes} -->\n"
    )


@cache
def _made(name: str, *arguments: Any) -> Any:
    return _find(f"slides.figures.{name}")(*arguments)


def _find(name: str) -> Callable[..., Any]:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise IncludeError(f'there is no "{name}": {error}') from None


def _without_docstring(source: str) -> str:
    (definition,) = ast.parse(source).body
    if ast.get_docstring(definition) is None:
        return source
    docstring, lines = definition.body[0], source.splitlines()
    del lines[docstring.lineno - 1 : docstring.end_lineno]
    return "\n".join(lines)
