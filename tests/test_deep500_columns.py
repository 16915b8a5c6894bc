"""The page on Deep500's columns: its blocks run in order, and all columns are there."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "deep500_columns.md").read_text()
COLUMNS = ("Standard operators", "Custom operators", "Deferred networks", "Eager networks",
           "Compiled networks", "Transformable networks")  # fmt: skip


def blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def section(column):
    (found,) = re.findall(rf"^## {column}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return found


class Reader:
    """Somebody who runs the page from its beginning, each column once."""

    def __init__(self):
        self.namespace, self.done = {"__name__": "page"}, []

    def read_to(self, column):
        for one in COLUMNS[len(self.done) : COLUMNS.index(column) + 1]:
            for block in blocks(section(one)):
                # As many empty lines as the page has before it: errors name the page's line.
                code = "\n" * PAGE[: PAGE.index(block)].count("\n") + block
                exec(compile(code, "docs/deep500_columns.md", "exec"), self.namespace)
            self.done.append(one)


@pytest.fixture(scope="module")
def reader():
    return Reader()


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_is_shown_by_code_that_runs(column, reader, capsys):
    reader.read_to(column)
    assert capsys.readouterr().out
    assert "assert " in "".join(blocks(section(column)))


def test_the_page_has_no_other_columns():
    assert tuple(re.findall(r"^## (.*)$", PAGE, re.MULTILINE)) == COLUMNS
    assert len(blocks(PAGE)) == PAGE.count("```") // 2
    assert max(len(line) for block in blocks(PAGE) for line in block.splitlines()) < 100
