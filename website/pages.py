"""The book and the decks of the site; pages of units lead to the browser edition."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from website import edition, lab
from website.tools import BUILT, BuildError, run

RUN = (
    '<p class="run"><a href="../../{}/lab/index.html?path={}.ipynb">Run it in your browser</a></p>'
)


def book(out: Path, unexecuted: bool) -> None:
    """The book's pages; what it keeps of outputs stays beside the site."""
    made = BUILT / "book"
    words = ["--unexecuted"] if unexecuted else []
    run([sys.executable, "-m", "book", *words, "--out", str(made)], cwd=edition.ROOT)
    shutil.copytree(made / "html", out)
    for name in edition.names():
        page = out / "notebooks" / f"{name}.html"
        text, end = page.read_text(encoding="utf-8"), "</h1>"
        if text.count(end) != 1:
            raise BuildError(f"{page} has not one heading of the first level")
        button = RUN.format(lab.FOLDER, name)
        page.write_text(text.replace(end, f"{end}\n{button}"), encoding="utf-8")


def decks(out: Path) -> None:
    """A page for each deck."""
    run([sys.executable, "-m", "slides", "--out", str(out)], cwd=edition.ROOT)
