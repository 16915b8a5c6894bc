"""The whole folder as published, but for outputs in the book: every link in it leads somewhere.

Pyodide's distribution is the one of `distribution.py`, with stand-ins.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tools
from distribution import distribution

from website import edition, links

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.timeout(3000)]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    try:
        made = distribution()
    except tools.NoTools as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("site")
    words = ["-m", "website", "--pyodide", str(made), "--unexecuted", "--out", str(folder)]
    words += ["--paper", "--repository", "OWNER/NAME"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_link_leads_somewhere_and_nothing_comes_from_elsewhere(site):
    assert links.dead(site) == []


def test_a_dead_link_in_it_would_be_found(site):
    page = site / "book" / "index.html"
    whole = page.read_text()
    page.write_text(whole.replace("</body>", "<a href='nowhere.html'>a</a></body>"))
    try:
        assert links.dead(site) == ["book/index.html: nowhere.html leads to no file"]
    finally:
        page.write_text(whole)


@pytest.mark.parametrize("name", edition.names())
def test_a_notebook_is_reached_from_the_first_page_and_from_its_page_of_the_book(site, name):
    for page in (site / "index.html", site / "book" / "notebooks" / f"{name}.html"):
        assert f"path={name}.ipynb" in page.read_text()


def test_all_decks_are_there(site):
    assert len(list((site / "slides").glob("*.html"))) == len(
        list((ROOT / "slides" / "decks").glob("*.md"))
    )


def test_the_book_is_there_for_readers_and_for_paper(site):
    assert (site / "book" / "book.pdf").read_bytes().startswith(b"%PDF")
    assert zipfile.is_zipfile(site / "book" / "book.epub")
    page = (site / "index.html").read_text()
    assert 'or as <a href="book/book.epub">EPUB</a> or <a href="book/book.pdf">PDF</a>' in page
