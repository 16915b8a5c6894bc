"""The pages on the field and Deep500's columns and levels: their blocks run in order."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[1] / "docs"
SECTIONS = {
    "deep500_columns.md": (
        "Standard operators", "Custom operators", "Deferred networks", "Eager networks",
        "Compiled networks", "Transformable networks", "Data sets", "Standard optimizers",
        "Custom optimizers", "Parameter servers", "Decentralized training",
        "Asynchronous training", "Custom distribution",
    ),
    "deep500_levels.md": (
        "Operators", "Networks", "Training", "Distributed training", "Energy",
    ),
    "the_field.md": (
        "Trainings over the years", "Networks", "Machines", "Runtimes", "Frameworks", "Open data",
        "Data layouts",
    ),
}  # fmt: skip


def blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def section(page, title):
    text = (DOCS / page).read_text()
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return found


class Reader:
    """Somebody who runs a page from its beginning, each section once."""

    def __init__(self, page):
        self.page, self.namespace, self.done = page, {"__name__": "page"}, []

    def read_to(self, title):
        text, titles = (DOCS / self.page).read_text(), SECTIONS[self.page]
        for one in titles[len(self.done) : titles.index(title) + 1]:
            for block in blocks(section(self.page, one)):
                # As many empty lines as the page has before it: errors name the page's line.
                code = "\n" * text[: text.index(block)].count("\n") + block
                exec(compile(code, f"docs/{self.page}", "exec"), self.namespace)
            self.done.append(one)


@pytest.fixture(scope="module")
def readers():
    return {page: Reader(page) for page in SECTIONS}


@pytest.mark.parametrize(
    ("page", "title"), [(page, title) for page, titles in SECTIONS.items() for title in titles]
)
@pytest.mark.sampled(2)
def test_a_section_is_shown_by_code_that_runs(page, title, readers, capsys):
    readers[page].read_to(title)
    assert capsys.readouterr().out
    assert "assert " in "".join(blocks(section(page, title)))


@pytest.mark.parametrize("page", SECTIONS)
def test_a_page_has_no_other_sections(page):
    text = (DOCS / page).read_text()
    assert tuple(re.findall(r"^## (.*)$", text, re.MULTILINE)) == SECTIONS[page]
    assert len(blocks(text)) == text.count("```") // 2
    assert max(len(line) for block in blocks(text) for line in block.splitlines()) < 100
