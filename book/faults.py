"""What can be wrong with built pages: dead links and anchors, what is loaded from a network,
pictures without words, headings that leave a level out.

Links to other sites cannot be tried without a network: they are collected, and their form is
checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
LOADS = dict.fromkeys("img script iframe video audio".split(), "src") | {"link": "href"}
# A <link> that loads nothing: where a page's neighbours are.
ONLY_TOLD = {"index", "search", "next", "prev", "genindex", "canonical", "author", "copyright"}


@dataclass
class Seen(HTMLParser):
    """What matters of a page."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    wordless: list[str] = field(default_factory=list)  # pictures without a text
    headings: list[int] = field(default_factory=list)
    language: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """One element."""
        given = {name: value or "" for name, value in attributes}
        self.ids.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "html":
            self.language = given.get("lang", "")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADS and given.get(LOADS[tag]) and given.get("rel") not in ONLY_TOLD:
            self.loaded.append(given[LOADS[tag]])
        if tag == "img" and not given.get("alt", "").strip():
            self.wordless.append(given.get("src", "")[:60])
        if tag in HEADINGS:
            self.headings.append(int(tag[1]))


def read(folder: Path) -> dict[Path, Seen]:
    """All pages below a folder."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        pages[path] = seen = Seen()
        seen.feed(path.read_text(encoding="utf-8"))
    return pages


def faults(folder: Path) -> list[str]:
    """Every fault as one line; none if all is well."""
    pages = read(folder)
    found = [
        f"{path.relative_to(folder)}: {fault}"
        for path, seen in pages.items()
        for fault in (*_links(path, seen, pages, folder), *_page(path, seen))
    ]
    for path in sorted(folder.rglob("*.css")):
        for address in re.findall(r"url\(['\"]?([^'\")]+)", path.read_text(encoding="utf-8")):
            if _elsewhere(address):
                found.append(f"{path.relative_to(folder)}: {address} is loaded from a network")
    return found


def external(pages: Iterable[Seen]) -> list[str]:
    """All links to other sites, once each."""
    return sorted({link for seen in pages for link in seen.links if _elsewhere(link)})


def _links(path: Path, seen: Seen, pages: Mapping[Path, Seen], folder: Path) -> Iterator[str]:
    for link in {*seen.links, *seen.loaded}:
        if _elsewhere(link):
            if link in seen.loaded:
                yield f"{link} is loaded from a network"
            elif not well_formed(link):
                yield f"{link} is no address"
        elif not link.startswith(("data:", "mailto:")):
            yield from inside(path, link, pages, folder)


def inside(path: Path, link: str, pages: Mapping[Path, Seen], folder: Path) -> Iterator[str]:
    """What is wrong with a link of a page to another one, which must lie in the folder too."""
    parts = urlsplit(link)
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    if not (there.is_file() and there.is_relative_to(folder.resolve())):
        yield f"{link} leads to no file"
    elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].ids:
        yield f"{link} leads to no place on its page"


def _page(path: Path, seen: Seen) -> Iterator[str]:
    if not seen.language:
        yield "its language is not said"
    yield from (f"a picture has no words: {picture}" for picture in seen.wordless)
    # What the theme searches with writes its heading when it has found something.
    if seen.headings.count(1) != 1 and path.name != "search.html":
        yield f"it has {seen.headings.count(1)} headings of the first level"
    for before, level in zip(seen.headings, seen.headings[1:], strict=False):
        if level > before + 1:
            yield f"after a heading of level {before} comes one of level {level}"


def _elsewhere(link: str) -> bool:
    return bool(re.match(r"(?:[a-z]+:)?//", link))


def well_formed(link: str) -> bool:
    """Whether an address can be one: https or http, a host with a dot, no blanks."""
    parts = urlsplit(link)
    host = parts.hostname or ""
    local = host in ("localhost", "127.0.0.1")
    named = parts.scheme in ("https", "http") and (local or "." in host)
    return named and not re.search(r"\s", link)
