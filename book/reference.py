"""The reference: a page for each folder of the package, its files in turn, all public names.

It is made from what `code_index` reads, so a name of tomorrow stands in tomorrow's book.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from book import plain_files
from book.code_index import PACKAGES, Index, Module, Name
from book.docstrings import to_markdown

ORDER = (
    "plain theory comm collectives operators networks training fault_tolerance search"
    " planning serving"
).split()
"""The rooms of what is read from the ground up; the other packages follow."""

Translate = Callable[[str], str]


def pages(index: Index, definitions: bool = True) -> dict[str, str]:
    """Each page by its path without suffix; with the plain files as they stand, which answer many
    an exercise, or without."""
    folders = sorted({module.home for module in index.modules.values()}, key=_position)
    words = (
        "Every public name of the package with its signature, made from the docstrings. Each "
        "folder has a page, with its files in turn."
    )
    lines = ["# Reference", "", words, ""]
    for folder in folders:
        told = index.modules[folder].text.partition("\n")[0]
        indent = "  " * max(0, folder.count(".") - 1)
        lines.append(f"{indent}- [{folder}]({folder}.md): {to_markdown(told, lambda _: None)}")
    made = {f"reference/{folder}": page(index, folder, definitions) for folder in folders}
    return {"reference/index": "\n".join(lines) + "\n"} | made


def _position(folder: str) -> tuple[int, int, str]:
    package, room, *_ = [*folder.split("."), ""]
    place = ORDER.index(room) + 1 if room in ORDER else 0
    return PACKAGES.index(package), place, folder


def page(index: Index, folder: str, definitions: bool = True) -> str:
    """The page of a folder. It is in no table of contents: these would be on every page."""
    inside = [module for module in index.modules.values() if module.home == folder]
    inside.sort(key=lambda module: (not module.folder, module.name))
    parts = ["---\norphan: true\n---", f"# {folder}", "[All folders](index.md)"]
    parts += (part for module in inside for part in _module(index, module, definitions))
    return "\n\n".join(parts) + "\n"


def _module(index: Index, module: Module, definitions: bool) -> Iterator[str]:
    if not module.folder:
        yield f"## {module.name.rpartition('.')[2]}"
    yield f"```{{py:module}} {module.name}\n```"
    translate = partial(to_markdown, link=partial(index.resolve, module.name))
    yield translate(module.text)
    if links := plain_files.links(module.name):
        yield translate(links)
    if definitions and plain_files.is_plain(module.name):
        yield plain_files.source(module.name)
    for one in module.names:
        yield "\n".join(_described(one, translate, fence=6))


def _described(one: Name, translate: Translate, fence: int) -> Iterator[str]:
    """A directive of Sphinx for a name, and inside of it those for its methods."""
    ticks = "`" * fence
    typed = one.kind in ("data", "property")
    yield f"{ticks}{{py:{one.kind}}} {one.name}{'' if typed else one.signature}"
    if typed and one.signature:
        yield f":type: {one.signature.removeprefix(': ')}"
    yield from (f":{mark}:" for mark in one.marks)
    yield ""
    if one.bases:
        yield "A kind of " + ", ".join(translate(f"`{base}`") for base in one.bases) + ".\n"
    yield translate(one.text)
    yield ""
    for member in one.members:
        if member.kind == "attribute":
            text = " ".join(member.text.split())
            yield f"- `{member.name}{member.signature}` {translate(text)}"
    yield ""
    for member in one.members:
        if member.kind != "attribute":
            yield from _described(member, translate, fence - 1)
    yield ticks
