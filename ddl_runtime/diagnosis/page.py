"""Text as wide as a notebook's page, which would otherwise break it in the middle of words."""

import textwrap

WIDTH = 88  # letters, beside the list of files in a window of 1280 pixels
NARROW = 69  # letters, in half of such a window
DEEPER = " " * 4  # what stands before the rest of a folded line


def paragraphs(text: str) -> str:
    """`text` with long lines folded, except those that are indented: these are drawn."""
    lines = []
    for line in text.splitlines():
        drawn = line.startswith(" ") or not line
        lines += [line] if drawn else textwrap.wrap(line, WIDTH, break_long_words=False)
    return "\n".join(lines)


def folded(text: str) -> str:
    """`text` for a narrow window: the rest of each long line stands below it, farther in."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())] + DEEPER
        lines += textwrap.wrap(
            line, NARROW, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [line]
    return "\n".join(lines)
