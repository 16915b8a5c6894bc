"""The first page of the site: what the course is, three ways in, and where everything is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from ddl_class.release.curriculum import PARTS
from slides import deck
from website import edition, lab

HERE = Path(__file__).resolve().parent
PICTURE = edition.ROOT / "docs" / "ring_moving.svg"
GUIDES = {
    "book/docs/learner_guide.html": "For learners: what you need to know, and how to get help",
    "book/docs/instructor_guide.html": "For teachers: schedules, set-up, answers, grading",
    "book/docs/other_courses.html": "One unit alone, in a course that exists",
    "book/docs/in_the_cloud.html": "Real ranks in the cloud: Binder, Colab, dev containers",
    "book/docs/the_field.html": "The field: networks, machines, software, data",
    "book/docs/architecture.html": "How the code is built",
}


def write(out: Path, repository: str = "") -> None:
    """The page, and the picture on it; with ways into the cloud where it is known from which
    repository of GitHub."""
    shutil.copy(PICTURE, out / PICTURE.name)
    environment = Environment(undefined=StrictUndefined, autoescape=True)
    template = environment.from_string((HERE / "landing.html").read_text(encoding="utf-8"))
    here = set(edition.names())
    parts = {
        part: [(name, title(name), name in here) for name in notebooks(numbers)]
        for part, numbers in PARTS.items()
    }
    decks = {f"slides/{path.stem}.html": heading(path) for path in deck.decks()}
    page = template.render(
        parts=parts,
        decks=decks,
        guides=GUIDES,
        lab=f"{lab.FOLDER}/lab/index.html",
        repository=repository,
        paper=[path.name for path in sorted((out / "book").glob("book.*"))],
    )
    (out / "index.html").write_text(page, encoding="utf-8")


def notebooks(numbers: tuple[str, ...]) -> list[str]:
    """The notebooks of these units, the tour first."""
    sources = (edition.ROOT / "notebooks" / "source").glob("*.py")
    names = sorted(path.stem for path in sources if path.stem[:2] in numbers)
    return sorted(names, key=lambda name: name != "00_tour")


def title(name: str) -> str:
    """The heading of a notebook."""
    return heading(edition.ROOT / "notebooks" / "source" / f"{name}.py")


def heading(path: Path) -> str:
    """The first heading of a text, also of one that stands in comments."""
    [first] = re.findall(r"^(?:# )?# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)[:1]
    return first
