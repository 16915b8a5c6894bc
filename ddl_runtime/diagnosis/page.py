"""Text folded to the width of a notebook's page, which would break words otherwise."""

import textwrap

WIDTH = 80  # letters, beside the list of files in a window of 1100 pixels
NARROW = 69  # letters, in half of a window of 1280 pixels
DEEPER = " " * 4  # what stands before the rest of a folded line


def paragraphs(text: str) -> str:
    """`text` with long lines folded; indented lines stay as they are."""
    lines = []
    for line in text.splitlines():
        drawn = line.startswith(" ") or not line
        lines += [line] if drawn else textwrap.wrap(line, WIDTH, break_long_words=False)
    return "\n".join(lines)


def folded(text: str) -> str:
    """`text` folded for a narrow window; continued lines are indented more."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())] + DEEPER
        lines += textwrap.wrap(
            line, NARROW, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [line]
    return "\n".join(lines)
