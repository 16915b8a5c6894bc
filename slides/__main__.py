"""Build the slides, without a network.

python -m slides                 every deck as a page, in slides/built
python -m slides 2 --pdf         the second deck, on paper as well: alone, with notes, as handout
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from pathlib import Path

from slides.chromium import Page, find_chromium, opened
from slides.deck import decks, read
from slides.includes import IncludeError
from slides.page import page_of

BUILT = Path(__file__).resolve().parent / "built"


def paper(page: Page, made: Path, behind: str = "") -> bytes:
    """A page as PDF."""
    page.open(f"{made.as_uri()}{behind}")
    page.wait("its slides", "document.readyState === 'complete'")
    # What no slide on the screen needs is loaded by nobody else before it is printed.
    page.ask("Promise.all([...document.fonts].map(it => it.load())).then(() => true)")
    printed = page.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
    return base64.b64decode(printed["data"])


def main() -> None:
    """Build what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m slides", description=__doc__.splitlines()[0])
    parser.add_argument("deck", nargs="*", help="the number or name of a deck; all without any")
    parser.add_argument(
        "--pdf", action="store_true", help="as PDF too: slides, with notes, handout"
    )
    parser.add_argument("--out", type=Path, default=BUILT)
    chosen = parser.parse_args()
    paths = [path for path in decks() if not chosen.deck or _named(path, chosen.deck)]
    if not paths:
        parser.error(f"no such deck; there are {', '.join(path.stem for path in decks())}")
    chromium = find_chromium() if chosen.pdf else None
    if chosen.pdf and chromium is None:
        parser.error("a PDF is printed by Chromium or Chrome, and neither was found")
    chosen.out.mkdir(parents=True, exist_ok=True)
    pages = []
    for path in paths:
        try:
            deck = read(path)
        except IncludeError as error:
            sys.exit(str(error))
        made = (chosen.out / f"{deck.name}.html").resolve()
        made.write_text(page_of(deck))
        pages.append(made)
        print(f"{len(deck.slides):3} slides  {made}")
    if chromium is None:
        return
    with tempfile.TemporaryDirectory() as folder, opened(chromium, Path(folder)) as browser:
        for made in pages:
            made.with_suffix(".pdf").write_bytes(paper(browser, made))
            for kind in ("notes", "handout"):
                printed = paper(browser, made, f"?{kind}")
                made.with_name(f"{made.stem}_{kind}.pdf").write_bytes(printed)


def _named(path: Path, names: list[str]) -> bool:
    return path.stem in names or path.stem.partition("_")[0] in names


if __name__ == "__main__":
    main()
