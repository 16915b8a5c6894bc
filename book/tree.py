"""All pages of the book, as Markdown, at the paths that they have in the repository.

What is written for readers elsewhere (README.md, guides, worksheets) is a chapter as it stands:
its links to pictures and to its neighbours lead to the same places. What they lead to that is no
page of the book, a program or a picture, goes along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from book import by_unit, glossary, papers, reference, units
from book.code_index import ROOT, Index
from ddl_class.release.curriculum import PARTS, course_map
from ddl_class.release.students import handed_out, without_dead_links

MADE = {"html": ".html", "epub": ".xhtml"}  # folders beside the sources, and how pages end there
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)")
PAGES = Path(__file__).resolve().parent / "pages"


def chapters(students: bool = False) -> dict[str, list[Path]]:
    """What is in the book beside reference, glossary and papers, part by part. For students it
    has no pages of those who teach or work on the course."""
    if students:
        given = handed_out(ROOT).values()
        parts = {
            part: [path for path in paths if path.suffix == ".py" or path in given]
            for part, paths in chapters().items()
        }
        return {part: paths for part, paths in parts.items() if paths}
    named = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    guides = [path for path in named if path.exists() and path.stem != "answers"]
    return {
        **_units_by_part(),
        "Labs": sorted((ROOT / "labs").glob("*/worksheet.md")),
        "Guides": guides,
        "Clusters": [ROOT / "cluster_setup" / "README.md"],
        "The project": [ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")],
        "Answers": [ROOT / "docs" / "answers.md"],
    }


def _units_by_part() -> dict[str, list[Path]]:
    """The notebooks of each part of the course, in the order in which one reads them."""
    parts: dict[str, list[Path]] = {}
    for place, (part, numbers) in enumerate(PARTS.items()):
        caption = f"Part {place}: {part}" if place else part
        paths = [path for path in units.SOURCES.glob("*.py") if path.stem[:2] in numbers]
        parts[caption] = sorted(paths, key=lambda path: (path.stem != "00_tour", path.stem))
    return parts


def pages(
    index: Index, executed: Iterable[str], kept: Path | None, students: bool = False
) -> dict[str, str]:
    """Each page by its path; units whose names are in `executed` with their outputs. For
    `students` no solution is on any."""
    terms, listed = glossary.read(), papers.read()
    cited = papers.citations(listed, papers.texts())
    made, texts = {}, {}
    for paths in chapters(students).values():
        for path in paths:
            name = page_name(path)
            if path.suffix == ".py":
                told = units.chapter(path, kept if path.stem in executed else None, not students)
                made[name] = glossary.with_links(told, terms)
                texts[path.stem] = path.read_text(encoding="utf-8")
            else:
                made[name] = path.read_text(encoding="utf-8")
    made |= reference.pages(index, definitions=not students)
    made["glossary"] = glossary.page(terms, texts)
    made["papers"] = papers.page(listed, cited, index.modules)
    made["units"] = by_unit.page(texts, terms, listed, cited)
    made["index"] = _first_page() + _contents(students)
    if students:
        there = {*handed_out(ROOT), *(f"{name}.md" for name in made)}
        made = {name: without_dead_links(text, name, there) for name, text in made.items()}
    return made


def page_name(path: Path) -> str:
    """Where a chapter stands in the book: where its source stands in the repository."""
    if path.suffix == ".py":
        return f"notebooks/{path.stem}"
    return path.relative_to(ROOT).with_suffix("").as_posix()


def _first_page() -> str:
    """The first page, with the map's own words for those who cannot see it."""
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    return text.replace("MAP'S WORDS", course_map().alt)


def _contents(students: bool) -> str:
    """The toctrees of the first page, which are the book's sidebar."""
    trees = {
        caption: "\n".join(map(page_name, paths)) for caption, paths in chapters(students).items()
    }
    answers = trees.pop("Answers", "")  # which students do not get
    trees |= {"To look up": "glossary\npapers\nunits\nreference/index", "Answers": answers}
    return "".join(
        f"\n```{{toctree}}\n:caption: {caption}\n:maxdepth: 1\n:hidden:\n\n{names}\n```\n"
        for caption, names in trees.items()
        if names
    )


def write(made: dict[str, str], folder: Path) -> None:
    """The pages into a folder, and beside them what they lead to. A page that is no more leaves
    nothing in the folders beside it, of what was made from it before."""
    wanted = {folder / f"{name}.md": text.encode() for name, text in made.items()}
    for name, text in made.items():
        for target in LINK.findall(text):
            source = (ROOT / name).parent / target
            path = folder / name
            there = (path.parent / target).resolve()
            if source.is_file() and there not in wanted and folder.resolve() in there.parents:
                wanted[there] = source.read_bytes()
    for old in folder.rglob("*"):
        if old.is_file() and old not in wanted:
            old.unlink()
            for form, ending in MADE.items():
                page = folder.with_name(form) / old.relative_to(folder).with_suffix(ending)
                page.unlink(missing_ok=True)
    for path, content in wanted.items():
        if (
            not path.exists() or path.read_bytes() != content
        ):  # what is as it was is not read again
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
