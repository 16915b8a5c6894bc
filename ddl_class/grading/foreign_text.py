"""Text that strangers wrote: fit for a terminal and for a page, or a notebook's cell as Python.

IPython's own rules say what `f?`, `%magic` and `!shell` mean in a cell. They look at tokens, so a
`?` in a comment stays one. Nothing of the cell is run here.
"""

import re
import unicodedata
from functools import lru_cache

from IPython.core.inputtransformer2 import (
    TransformerManager,
    classic_prompt,
    ipython_prompt,
    leading_indent,
)

MOST = 4_000  # characters
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)?", re.DOTALL)
# A line that may be a command. IPython then looks whether it is one, from the cell's beginning.
COMMAND = re.compile(r"^[ \t]*[%!?,;/]|\?[ \t]*$|=[ \t]*[%!]", re.MULTILINE)
MOST_LOOKING = 100_000  # characters that are looked at for all commands of a cell


def plain(text: str, most: int = MOST) -> str:
    """The text without whatever could move a cursor, colour a terminal, or turn a line round."""
    text = ESCAPES.sub("", text[: 2 * most].replace("\r\n", "\n"))
    kept = "".join(c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C")
    return kept if len(kept) <= most else kept[:most] + " ..."


@lru_cache(maxsize=512)
def as_python(source: str) -> str:
    """The cell without magics, in as many lines; as it is where IPython cannot read it either."""
    lines = [f"{line}\n" for line in source.split("\n")]
    first = next((place for place, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        lines[first] = "\n"
    for clean in (leading_indent, classic_prompt, ipython_prompt):
        lines = clean(lines)
    commands = len(COMMAND.findall("".join(lines)))
    manager = TransformerManager()
    try:
        for _ in range(min(commands, MOST_LOOKING // max(len(source), 1))):
            before = lines
            _, lines = manager.do_one_token_transform(lines)
            lines = _as_many(before, lines)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    return "".join(lines).removesuffix("\n")


def _as_many(before: list[str], after: list[str]) -> list[str]:
    """`after` with empty lines where a command of several lines became one."""
    pairs = zip(before, after, strict=False)
    place = next((place for place, (old, new) in enumerate(pairs) if old != new), len(after))
    return [*after[: place + 1], *["\n"] * (len(before) - len(after)), *after[place + 1 :]]
