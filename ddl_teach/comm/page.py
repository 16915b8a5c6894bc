"""Text as wide as a notebook's page, which would otherwise break it in the middle of words."""

from __future__ import annotations

import textwrap

WIDTH = 88  # letters, beside the list of files in a window of 1280 pixels


def paragraphs(text: str) -> str:
    """`text` with long lines folded, except those that are indented: these are drawn."""
    lines = []
    for line in text.splitlines():
        drawn = line.startswith(" ") or not line
        lines += [line] if drawn else textwrap.wrap(line, WIDTH, break_long_words=False)
    return "\n".join(lines)
