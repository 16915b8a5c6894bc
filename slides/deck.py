"""A deck: Markdown with a line `---` between slides, and each slide's notes in a comment.

    # What a ring costs

    {{ figure("communication.ring") }}

    <!-- Notes, 2 minutes: what the speaker says here. Markdown, too. -->

The first heading of all names the deck. A slide without minutes takes one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from jinja2.exceptions import TemplateError

from slides.includes import IncludeError, clicker, code, exercise, figure, moving, value
from slides.markdown import markdown

DECKS = Path(__file__).resolve().parent / "decks"
NOTES = re.compile(r"<!--\s*Notes(?:, (\d+) minutes?)?:(.*?)-->", re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Slide:
    """One slide, as HTML."""

    title: str
    body: str
    notes: str
    minutes: int = 1


@dataclass(frozen=True)
class Deck:
    """All slides of a part."""

    name: str
    title: str
    slides: tuple[Slide, ...]


def decks() -> list[Path]:
    """The files of all decks, in the order of the course."""
    return sorted(DECKS.glob("*.md"))


def read(path: Path) -> Deck:
    """A deck with everything that it includes."""
    environment = Environment(undefined=StrictUndefined)
    environment.globals |= {"code": code, "figure": figure, "value": value, "exercise": exercise}
    environment.globals |= {"moving": moving, "clicker": clicker}
    translator = markdown()
    made = []
    for number, written in enumerate(re.split(r"^---$", path.read_text(), flags=re.MULTILINE), 1):
        where = f"{path.name}, slide {number}"
        try:
            text = environment.from_string(written).render()
        except (TemplateError, IncludeError) as error:
            raise IncludeError(f"{where}: {error}") from None
        heading, notes = HEADING.search(text), NOTES.search(text)
        if heading is None or notes is None:
            raise IncludeError(f"{where}: a slide needs a heading, and <!-- Notes: ... -->")
        body = translator.render(NOTES.sub("", text))
        spoken = translator.render(notes[2].strip())
        made.append(Slide(heading[1], body, spoken, int(notes[1] or 1)))
    return Deck(path.stem, made[0].title, tuple(made))
