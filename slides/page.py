"""A deck as one page that needs nothing else: no network, no server.

Arrows lead from slide to slide, `n` shows the notes, `p` a second window for the speaker, `?` says
what other keys do. On paper, and without a script, all slides stand below each other; behind its
address `?notes` adds the notes, and `?handout` puts two slides with notes on a page.
"""

from __future__ import annotations

import base64
import html
from functools import cache
from pathlib import Path

import matplotlib

from slides.deck import Deck
from slides.markdown import FORMATTER

FOLDER = Path(__file__).resolve().parent
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
FACES = {  # those of the figures, that of code, and that of formulas, which ships with the decks
    FONTS / "DejaVuSans.ttf": ("DejaVu Sans", 400),
    FONTS / "DejaVuSans-Bold.ttf": ("DejaVu Sans", 700),
    FONTS / "DejaVuSansMono.ttf": ("DejaVu Sans Mono", 400),
    FOLDER / "fonts" / "DejaVuMathTeXGyre.ttf": ("DejaVu Math of the decks", 400),
}


def page_of(deck: Deck) -> str:
    """The whole page."""
    slides = "\n".join(
        f'<section aria-roledescription="slide" aria-label="{number}: {html.escape(it.title)}"'
        f' data-minutes="{it.minutes}"><div class="slide{" title" if number == 1 else ""}">'
        f'{it.body}<p class="number">{number}</p></div>'
        f'<aside class="notes" aria-label="notes">{it.notes}</aside></section>'
        for number, it in enumerate(deck.slides, 1)
    )
    colours = FORMATTER.get_style_defs("pre")
    style = (FOLDER / "theme.css").read_text()
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(deck.title)}</title>"
        f"<style>{_fonts()}\n{colours}\n{style}</style></head><body>\n"
        f"<main>{slides}</main>\n"
        f"<script>{(FOLDER / 'keys.js').read_text()}</script></body></html>\n"
    )


@cache
def _fonts() -> str:
    return "".join(
        f"@font-face {{font-family: '{family}'; font-weight: {weight}; src: url('data:font/ttf;"
        f"base64,{base64.b64encode(file.read_bytes()).decode()}')}}"
        for file, (family, weight) in FACES.items()
    )
