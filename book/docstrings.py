"""Docstrings as Markdown. They are written as plain text, to be read in an editor:

paragraphs, `names` between backticks, lists, examples after >>>, and whatever is indented (a
formula, a table) is laid out by hand and keeps its lines. Only that is translated; any other sign
means itself.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator

SPECIAL = re.compile(r"([\\*_\[\]<>$|~^{}#])")
Link = Callable[[str], str | None]
"""The full name of what stands between backticks, if it is known."""


def to_markdown(text: str, link: Link) -> str:
    """A docstring as it stands in the reference."""
    blocks = ("\n".join(_block(kind, lines, link)) for kind, lines in _blocks(text))
    return "\n\n".join(blocks)


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Runs of lines of one kind."""
    kind, run = "", []
    for line in [*text.strip().splitlines(), None]:
        found = kind if line is not None and not line.strip() and kind != "text" else _kind(line)
        if kind == "laid out" and line and run[0].startswith("=====") and run[-1].strip():
            found = kind  # a row of a table, however near its columns are
        if kind == "example" and found == "text" and run[-1].strip():
            found = "example"  # what an example prints
        if found != kind and any(one.strip() for one in run):
            yield kind, run
        if found != kind:
            run = []
        kind = found
        run.append(line)


def _kind(line: str | None) -> str:
    if line is None:
        return "end"
    if not line.strip():
        return ""
    if line.startswith(">>>"):
        return "example"
    if line.startswith(("=====", " ")) or re.match(r"\S.*\S {3,}\S", line):
        return "laid out"
    return "text"


def _block(kind: str, lines: list[str], link: Link) -> Iterator[str]:
    if kind in ("example", "laid out"):
        fence = "```pycon" if kind == "example" else "```text"
        yield from (fence, textwrap.dedent("\n".join(lines)).strip("\n"), "```")
        return
    yield inline("\n".join(lines), link)


def inline(text: str, link: Link) -> str:
    """A paragraph, in which names are linked to where they are described."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick too few: nothing between them can be told apart
        return SPECIAL.sub(r"\\\1", text.replace("`", "'"))
    return "".join(
        _code(part, link) if position % 2 else SPECIAL.sub(r"\\\1", part)
        for position, part in enumerate(parts)
    )


def _code(words: str, link: Link) -> str:
    if not words:
        return ""
    full = link(re.sub(r"\(.*\)$", "", words)) if re.match(r"[\w.]+(\(.*\))?$", words) else None
    return f"{{py:obj}}`{words} <{full}>`" if full else f"`{words}`"
