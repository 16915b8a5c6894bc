"""What is wrong with a deck when one looks at it: asked of a browser that has drawn it.

Sizes are pixels on a slide of 1280 x 720, contrast is that of the Web Content Accessibility
Guidelines 2.2 (W3C, 2023), where 4.5 is the least for text.
"""

from __future__ import annotations

from pathlib import Path

from slides.chromium import Page

SMALLEST, SMALLEST_DRAWN, LEAST_CONTRAST = 18, 12.5, 4.5  # a letter's height, also in figures
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
