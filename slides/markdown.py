"""Markdown as the decks use it: CommonMark with tables, formulas between dollars, coloured code.

Formulas become MathML, which browsers draw without a script and screen readers read aloud.
"""

from __future__ import annotations

import html

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

FORMATTER = HtmlFormatter(nowrap=True, style="xcode")
LARGEST, ROOM, BESIDE = 22, 1105, 556  # pixels of a letter, of a line, of one beside a figure
LETTER = 0.605  # a letter's width, of its height


def markdown() -> MarkdownIt:
    """A translator of Markdown into HTML."""
    translator = MarkdownIt("commonmark", {"highlight": _coloured}).enable("table")
    translator.inline.ruler.before("escape", "formula", _formula)
    return translator


def _coloured(code: str, language: str, place: str) -> str:
    longest = max(map(len, code.splitlines()), default=1)
    size = min(LARGEST, (BESIDE if place == "beside" else ROOM) / LETTER / longest)
    if language:
        code = highlight(code, get_lexer_by_name(language), FORMATTER)
    else:
        code = html.escape(code)
    return f'<pre style="font-size: {size:.1f}px"><code>{code}</code></pre>'


def _formula(state: StateInline, silent: bool) -> bool:
    """`$x$` within a line, `$$x$$` on one of its own."""
    fence = "$$" if state.src.startswith("$$", state.pos) else "$"
    begin = state.pos + len(fence)
    end = state.src.find(fence, begin)
    if not state.src.startswith(fence, state.pos) or end < 0:
        return False
    if not silent:
        display = "block" if fence == "$$" else "inline"
        state.push("html_inline", "", 0).content = convert(state.src[begin:end], display=display)
    state.pos = end + len(fence)
    return True
