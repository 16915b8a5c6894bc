"""A cell's source as plain Python: `f?`, `%magic` and `!shell` are translated by IPython's own
rules.
"""

import re
from functools import lru_cache

from IPython.core.inputtransformer2 import (
    TransformerManager,
    classic_prompt,
    ipython_prompt,
    leading_indent,
)

# A line that may be a command. IPython then looks whether it is one, from the cell's beginning.
COMMAND = re.compile(r"^[ \t]*[%!?,;/]|\?[ \t]*$|=[ \t]*[%!]", re.MULTILINE)
MOST_LOOKING = 100_000  # characters that are looked at for all commands of a cell


@lru_cache(maxsize=512)
def as_python(source: str) -> str:
    """The cell without magics, with as many lines; unchanged if IPython cannot read it."""
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
            before, (_, lines) = lines, manager.do_one_token_transform(lines)
            # Empty lines follow where a command of several lines became one.
            pairs = zip(before, lines, strict=False)
            place = next((at for at, (old, new) in enumerate(pairs) if old != new), len(lines))
            lines[place + 1 : place + 1] = ["\n"] * (len(before) - len(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    return "".join(lines).removesuffix("\n")
