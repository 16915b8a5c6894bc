"""What is wrong with a deck when one looks at it: asked of a browser that has drawn it.

Sizes are pixels on a slide of 1280 x 720. The last row sits six heights of the screen away, the
farthest from which text is shown by the 4/6/8 rule of those who fit out rooms: four heights for
details, six for text, eight for films.
From there a capital of s pixels is seen under an angle of

    0.729 s / (6 x 720) rad        18 px: 10.4 minutes of arc; 12.5 px: 7.3

and eyes that pass the usual test read 5 (Snellen, 1862). So text has twice what is just legible,
the numbers along an axis half as much again. Contrast is that of the Web Content Accessibility
Guidelines 2.2 (W3C, 2023), where 4.5 is the least for text.
"""

from __future__ import annotations

import math
from pathlib import Path

from slides.chromium import Page

SMALLEST, SMALLEST_DRAWN, LEAST_CONTRAST = 18, 12.5, 4.5  # a letter's height, also in figures
HEIGHT, LAST_ROW = 720, 6  # pixels of a slide; heights of the screen to the last row
CAPITAL = 0.729  # of a letter's size, in DejaVu Sans
LOOK = Path(__file__).with_name("faults.js").read_text()


def faults(page: Page, made: Path) -> list[str]:
    """All that would trouble somebody in the last row, slide by slide."""
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=1280, height=720, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    page.open(made.as_uri())
    page.wait("its slides", "document.fonts.status === 'loaded' && Boolean(keys)")
    return page.ask(f"({LOOK})({SMALLEST}, {SMALLEST_DRAWN}, {LEAST_CONTRAST})")


def shares(page: Page, made: Path) -> list[tuple[float, bool]]:
    """Which part of its slide each figure takes, and whether code stands beside it."""
    page.open(made.as_uri())
    page.wait("its slides", "document.fonts.status === 'loaded' && Boolean(keys)")
    return page.ask(
        "(document.body.classList.remove('one-by-one'), "
        "[...document.querySelectorAll('.slide :is(figure, .moving)')].map(it => {"
        "const box = it.getBoundingClientRect();"
        "return [box.width * box.height / (1280 * 720), Boolean(it.closest('.two'))]}))"
    )


def minutes_of_arc(pixels: float) -> float:
    """The angle under which the last row sees a capital of this size."""
    return math.degrees(math.atan(CAPITAL * pixels / HEIGHT / LAST_ROW)) * 60
