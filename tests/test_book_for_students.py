"""The course for students with its book, made of the whole clone: no solution is on any page."""

import html
import re

import pytest

from book import units
from ddl_class.cli import main
from ddl_class.release import release

pytestmark = [pytest.mark.long, pytest.mark.book, pytest.mark.timeout(3000)]

SOURCES = sorted(units.SOURCES.glob("*.py"))
SECRET = re.compile(r"### BEGIN (SOLUTION|HIDDEN TESTS)\n(.*?)### END", re.DOTALL)
WITH_SECRETS = [source for source in SOURCES if SECRET.search(source.read_text())]
SHORTEST = 20  # characters: shorter lines are anybody's


def words(text):
    """The text with one blank in the place of each gap."""
    return " ".join(text.split())


def handed_out():
    """What all notebooks for learners hold."""
    notebooks = [release.learners(source) for source in SOURCES]
    return "\n".join(words(cell.source) for notebook in notebooks for cell in notebook.cells)


def secrets(source, known):
    """The lines of a notebook's solutions and hidden tests that learners are not given."""
    lines = {
        words(line) for cell in release.instructors(source).cells
        for _, block in SECRET.findall(cell.source) for line in block.splitlines()
    }  # fmt: skip
    return {line for line in lines if len(line) >= SHORTEST and line not in known}


@pytest.fixture(scope="module")
def known():
    return handed_out()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """What a reader sees of each page, and what the search looks in."""
    folder = tmp_path_factory.mktemp("course") / "given"
    assert main(["release", str(folder), "--students", "--book"]) == 0
    shown = [*(folder / "book").rglob("*.html"), *(folder / "book").rglob("*.js")]
    texts = {path.relative_to(folder / "book").as_posix(): path.read_text() for path in shown}
    return {name: words(html.unescape(re.sub(r"<[^>]*>", "", t))) for name, t in texts.items()}


def test_units_and_labs_are_in_it_and_no_page_of_teachers(pages):
    assert {"index.html", "glossary.html", "docs/learner_guide.html"} <= pages.keys()
    assert {f"notebooks/{source.stem}.html" for source in SOURCES} <= pages.keys()
    for name in pages:
        assert not re.search(r"\banswers|instructor|solved|troubles|CONTRIBUTING|CHANGELOG", name)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_no_line_of_a_solution_is_on_a_page(pages, known, source):
    lines = secrets(source, known)
    assert {
        (line, name) for name, text in pages.items() for line in lines if line in text
    } == set()


@pytest.mark.parametrize("source", WITH_SECRETS, ids=lambda source: source.stem)
def test_the_book_of_teachers_has_such_lines(known, source):
    assert any(line in words(units.chapter(source, None)) for line in secrets(source, known))
