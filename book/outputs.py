"""What a cell left behind, as HTML that needs no kernel.

A picture of the course comes with its text for those who cannot see it; what only lives in a
notebook (a slider) is named instead of shown.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from typing import Any

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
WIDGET = "application/vnd.jupyter.widget-view+json"


def as_html(output: Mapping[str, Any]) -> str:
    """One output."""
    kind = output["output_type"]
    if kind == "stream":
        return _text(output["text"])
    if kind == "error":
        return _text("\n".join(output["traceback"]), "error")
    data = output["data"]
    if WIDGET in data:
        return '<p class="widget">Here the notebook has a control that answers to its reader.</p>'
    if "text/html" in data:
        return f'<div class="html" tabindex="0">{data["text/html"]}</div>'
    if "image/png" in data:
        alt = (
            output.get("metadata", {}).get("image/png", {}).get("alt", data.get("text/plain", ""))
        )
        # Base64 as Jupyter writes it has line ends; a page's address has none.
        picture = base64.b64encode(base64.b64decode(data["image/png"])).decode()
        return f'<img src="data:image/png;base64,{picture}" alt="{html.escape(alt)}">'
    return _text(data.get("text/plain", ""))


def _text(text: str, kind: str = "text") -> str:
    shown = html.escape(ANSI.sub("", text).rstrip())
    return f'<pre class="{kind}" tabindex="0">{shown}</pre>' if shown else ""
