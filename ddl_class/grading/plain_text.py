"""Text that strangers wrote, made fit for a terminal and for a page."""

from __future__ import annotations

import re
import unicodedata

MOST = 4_000  # characters
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)?", re.DOTALL)


def plain(text: str, most: int = MOST) -> str:
    """The text without whatever could move a cursor, colour a terminal, or turn a line round."""
    text = ESCAPES.sub("", text[: 2 * most].replace("\r\n", "\n"))
    kept = "".join(c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C")
    return kept if len(kept) <= most else kept[:most] + " ..."
