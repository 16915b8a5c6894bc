"""The book and the decks of the site; pages of units lead to the browser edition, and their cells
run where they stand."""

from __future__ import annotations

import html
import shutil
import sys
from pathlib import Path

from book import outputs
from website import edition, lab
from website.tools import BUILT, BuildError, run

LIVE = Path(__file__).resolve().parent / "live"
RUN = """<p class="run"><a href="../../{}/lab/index.html?path={}.ipynb">Run it in your browser</a>:
your notebook and your progress stay there. Or change the cells of this page, and press
<em>Run</em> below them: that lasts as long as the page is open. Ranks are simulated.</p>"""
SCRIPT = '<script src="../../live/cells.js" data-needs="{}"></script>'


def book(out: Path, unexecuted: bool, paper: bool) -> None:
    """The book's pages, and perhaps its files for readers and for paper; what it keeps of outputs
    stays beside the site."""
    made = BUILT / "book"
    words = ["--unexecuted"] if unexecuted else []
    words += ["--epub", "--pdf"] if paper else []
    run([sys.executable, "-m", "book", *words, "--out", str(made)], cwd=edition.ROOT)
    shutil.copytree(made / "html", out)
    if paper:
        [epub] = (made / "epub").glob("*.epub")
        shutil.copy(epub, out / "book.epub")
        shutil.copy(made / "one_page" / "book.pdf", out)
    for name in edition.names():
        page = out / "notebooks" / f"{name}.html"
        page.write_text(live(page.read_text(encoding="utf-8"), name), encoding="utf-8")
    kernel(out.with_name(LIVE.name))


def kernel(out: Path) -> None:
    """What runs the cells of pages, once for all of them."""
    shutil.copytree(LIVE, out, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(outputs.__file__, out)


def live(text: str, name: str) -> str:
    """The page of a notebook with the way to the browser edition, and with cells that run."""
    script = SCRIPT.format(html.escape(edition.NEEDS))
    for end, added in (
        ("</h1>", "{0}\n" + RUN.format(lab.FOLDER, name)),
        ("</body>", script + "{0}"),
    ):
        if text.count(end) != 1:
            raise BuildError(f"the page of {name} has not one {end}")
        text = text.replace(end, added.format(end))
    return text


def decks(out: Path) -> None:
    """A page for each deck."""
    run([sys.executable, "-m", "slides", "--out", str(out)], cwd=edition.ROOT)
