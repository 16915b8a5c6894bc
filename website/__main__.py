"""Build the published site: one folder with the browser edition, the book, decks and guides.

python -m website --pyodide FOLDER        all of it; FOLDER is an unpacked Pyodide distribution
python -m website --pyodide FOLDER --unexecuted       a book without outputs, for a look
python -m website --pyodide FOLDER --paper            the book as EPUB and PDF too
python -m website --pyodide FOLDER --repository OWNER/NAME       with ways into the cloud
python -m website --serve                 show what was built, on this machine alone
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from website import cloud, lab, landing, links, pages, serve
from website.tools import BUILT, BuildError, fresh

SITE = BUILT / "site"


def main() -> None:
    """Build or show it."""
    parser = argparse.ArgumentParser(
        prog="python -m website",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--pyodide", type=Path, help="the distribution to take Pyodide from")
    parser.add_argument("--unexecuted", action="store_true", help="no outputs in the book")
    parser.add_argument("--paper", action="store_true", help="the book as EPUB and PDF too")
    at_github = os.environ.get("GITHUB_REPOSITORY", "")  # GitHub's own machines say it
    parser.add_argument("--repository", default=at_github, help="of GitHub, as OWNER/NAME")
    parser.add_argument("--serve", action="store_true", help="show the site that is built")
    parser.add_argument("--out", type=Path, default=SITE)
    chosen = parser.parse_args()
    if chosen.serve:
        if not (chosen.out / "index.html").is_file():
            parser.error(f"there is no site in {chosen.out} yet: build it first")
        serve.until_interrupted(chosen.out)
        return
    if chosen.pyodide is None:
        parser.error(
            "name an unpacked Pyodide distribution: --pyodide FOLDER (see website/README.md)"
        )
    try:
        options = chosen.unexecuted, chosen.repository, chosen.paper
        build(chosen.pyodide, chosen.out, *options)
    except BuildError as error:
        sys.exit(str(error))


def build(
    distribution: Path, out: Path, unexecuted: bool, repository: str = "", paper: bool = False
) -> None:
    """Make the folder, or leave it as it was: BuildError where a link in it leads nowhere."""
    if out.is_dir() and any(out.iterdir()) and not (out / lab.FOLDER).is_dir():
        raise BuildError(f"{out} is not empty, and no site: name another folder by --out")
    made = fresh(out.with_name(f"{out.name}.new"))
    lab.build(distribution, made / lab.FOLDER)
    pages.book(made / "book", unexecuted, paper)
    pages.decks(made / "slides")
    if repository:
        cloud.write(made / cloud.COLAB_FOLDER, repository)
    landing.write(made, repository)
    if dead := links.dead(made):
        raise BuildError("\n".join(dead))
    made.replace(fresh(out))
    files = [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{len(files):,} files, {size:,.0f} MB  {out / 'index.html'}")


if __name__ == "__main__":
    main()
