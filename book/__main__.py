"""Build the book, without a network.

python -m book                   every unit with its outputs; the first time takes some minutes
python -m book 00_tour 06        only these with their outputs, the others without
python -m book --unexecuted      none of them with outputs, in a minute
python -m book --epub --pdf      for a reader and for paper too; a PDF takes some minutes more
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from book import faults, tree, units
from book.build import BookError, build, printed
from book.code_index import Index
from slides.chromium import find_chromium

BUILT = Path(__file__).resolve().parent / "built"


def main() -> None:
    """Build what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m book", description=__doc__.splitlines()[0])
    parser.add_argument(
        "unit", nargs="*", help="the number or name of a notebook; all without any"
    )
    parser.add_argument("--unexecuted", action="store_true", help="no outputs at all")
    parser.add_argument("--students", action="store_true", help="no solutions, no teachers' pages")
    parser.add_argument("--epub", action="store_true", help="a file for electronic readers too")
    parser.add_argument("--pdf", action="store_true", help="as PDF too, by Chromium or Chrome")
    parser.add_argument("--out", type=Path, default=BUILT)
    chosen = parser.parse_args()
    names = [path.stem for path in units.SOURCES.glob("*.py")]
    if unknown := [one for one in chosen.unit if not any(_named(name, one) for name in names)]:
        parser.error(f"no notebook is called {unknown[0]}; there are {', '.join(sorted(names))}")
    chromium = find_chromium() if chosen.pdf else None
    if chosen.pdf and chromium is None:
        parser.error("a PDF is printed by Chromium or Chrome, and neither was found")
    wanted = [name for name in names if any(_named(name, one) for one in chosen.unit)]
    executed = [] if chosen.unexecuted else wanted or names
    source, pages = chosen.out / "source", chosen.out / "html"
    index = Index()
    try:
        kept = chosen.out / "outputs"
        tree.write(tree.pages(index, executed, kept, chosen.students), source)
        build(source, pages, index)
        if chosen.epub:
            build(source, chosen.out / "epub", index, form="epub")
        if chromium:
            build(source, chosen.out / "one_page", index, form="singlehtml")
            print(printed((chosen.out / "one_page" / "index.html").resolve(), chromium))
    except (units.CellError, BookError) as error:
        sys.exit(str(error))
    if found := faults.faults(pages):
        sys.exit("\n".join(found))
    seen = faults.read(pages)
    print(f"{len(seen)} pages  {pages / 'index.html'}")
    print(f"{len(faults.external(seen.values()))} links to other sites, which were not tried")


def _named(name: str, asked: str) -> bool:
    return asked in (name, name.partition("_")[0])


if __name__ == "__main__":
    main()
