"""The papers of the course, and where each is taught: read out of docstrings, notebooks, slides.

papers.txt has each paper once. A citation is a title between quotation marks with a year behind
it, or names with a year: `Lian et al. 2018`. Each must be a paper of the list, with its year, and
each paper of the list must be cited.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from book.code_index import PACKAGES, ROOT

LIST = Path(__file__).resolve().parent / "papers.txt"
YEAR = r"(?:19|20)\d\d"
SURNAME = r"(?:Del? )?[A-Z][\w\-'é]+"
NAMED = re.compile(
    rf"({SURNAME})((?:(?:, and|,| and| &) {SURNAME})*)(?: et al\.| and others|'s)?,? "
    rf"(?:[A-Z]\w+ )?\(?({YEAR})\b"
)
# What else stands before a year: months, and what the course calls by a name.
NO_NAMES = set(
    "In Since Of January August November December ResNet DAWNBench Megatron-LM FFTs GHz".split()
)


@dataclass(frozen=True)
class Paper:
    """A line of the list."""

    authors: str
    title: str
    where: str
    year: str

    @property
    def surnames(self) -> tuple[str, ...]:
        """The last word of each author's name."""
        people = re.split(r", | and ", self.authors.replace(" et al.", ""))
        return tuple(person.split()[-1] for person in people)

    @property
    def letter(self) -> str:
        """Under which it stands: `De Sensi` under D, and a group under its own name."""
        return re.sub(r"^(?:[A-Z][\w.-]*\. )+", "", self.authors)[0]

    @property
    def anchor(self) -> str:
        """Its place in the index of papers."""
        return plain(f"{self.surnames[0]} {self.year} {self.title}"[:40]).replace(" ", "-")

    def has_title(self, words: str) -> bool:
        """Whether `words` are its title, or how it begins."""
        return len(words) > 3 and f"{plain(self.title)} ".startswith(f"{plain(words)} ")


@dataclass(frozen=True)
class Citation:
    """Where a text speaks of a paper; `title` is empty where it only names its authors."""

    place: str
    title: str
    names: tuple[str, ...]
    year: str

    def means(self, paper: Paper) -> bool:
        """Whether this is the paper."""
        if self.year != paper.year:
            return False
        if self.title:
            return paper.has_title(self.title)
        return self.names[0] == paper.surnames[0] and set(self.names) <= set(paper.surnames)

    def __str__(self) -> str:
        return f"{self.place}: {self.title or ', '.join(self.names)}, {self.year}"


def plain(title: str) -> str:
    """A title without what is written now so, now so."""
    return re.sub(r"\W+", " ", title.lower()).strip()


def read(path: Path = LIST) -> list[Paper]:
    """The list."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Paper(*(field.strip() for field in line.split("|"))) for line in lines[1:]]


def citations(papers: Iterable[Paper], texts: Iterable[tuple[str, str]]) -> list[Citation]:
    """All of them in these texts, each with its place."""
    words = {word for paper in papers for word in re.findall(r"[A-Z]\w+", paper.where)}
    found = []
    for place, text in texts:
        pieces = text.split('"')
        for title, behind in zip(pieces[1::2], pieces[2::2], strict=False):
            year = re.search(YEAR, behind[:60])
            if year and re.match(r"[A-Z]|\d-", title):
                found.append(Citation(place, title.rstrip(" ,.?"), (), year[0]))
        for match in NAMED.finditer('""'.join(pieces[::2])):
            names = re.findall(SURNAME, match[1] + match[2])
            names = [name.split()[-1].removesuffix("'s") for name in names]
            others = NO_NAMES | words
            names = names[: next((i for i, name in enumerate(names) if name in others), None)]
            if names and not names[0].isupper():
                found.append(Citation(place, "", tuple(names), match[3]))
    return found


def texts(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Where papers are cited: paragraph by paragraph, on one line each, with their places."""
    for path in sorted(path for name in PACKAGES for path in (root / name).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        for node in ast.walk(tree):
            if isinstance(node, documented) and (text := ast.get_docstring(node)):
                yield _place(path, root), " ".join(text.split())
    written = [*(root / "docs").glob("*.md"), *(root / "labs").glob("*/*.md"),
               *(root / "slides").glob("decks/*.md"), root / "README.md"]  # fmt: skip
    for path in sorted(written):
        for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
            yield _place(path, root), _prose(paragraph)
    for path in sorted((root / "notebooks" / "source").glob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        text = "\n".join(line.removeprefix("#").strip() for line in lines if line[:1] == "#")
        for paragraph in re.split(r"\n\s*\n|\n(?=- )", text):
            yield _place(path, root), _prose(paragraph)


def _place(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _prose(paragraph: str) -> str:
    """On one line, without italics and without tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", paragraph.replace("*", "")).split())


def page(papers: Iterable[Paper], found: Iterable[Citation], modules: Container[str]) -> str:
    """The index: each paper with the places that teach it, those of `modules` linked."""
    lines = ["# Papers", "", "Each paper that the course cites, and where."]
    letter = ""
    for paper in papers:
        if paper.letter != letter:
            letter = paper.letter
            lines += ["", f"## {letter}"]
        places = sorted({one.place for one in found if one.means(paper)}, key=_units_first)
        reference = f"{paper.authors}, “{paper.title}”, {paper.where}, {paper.year}."
        lines += ["", f"({paper.anchor})=", f"{_escaped(reference)}  "]
        lines.append(" · ".join(link(place, modules) for place in places))
    return "\n".join(lines) + "\n"


def _units_first(place: str) -> tuple[bool, str]:
    return not place.startswith("notebooks"), place


def _escaped(text: str) -> str:
    return re.sub(r"([*_^$<>`\[\]])", r"\\\1", text)


def link(place: str, modules: Container[str]) -> str:
    """Where a place of the repository stands in the book."""
    path = Path(place)
    if path.parts[0] == "notebooks":
        return f"[unit {path.stem[:2]}](notebooks/{path.stem}.md)"
    if path.suffix == ".py":
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        return f"{{py:mod}}`{module}`" if module in modules else f"`{module}`"
    if path.parts[0] == "slides":
        return f"slides {path.stem}"
    return f"[{place}]({place})"
