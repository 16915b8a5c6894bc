"""Whoever leaves out the sections for other readers finds every name that the rest needs."""

import re
from functools import cache
from pathlib import Path

import nbformat
import pytest
from notebook_paths import LEVELS, missing_names, on_the_way

from ddl_class.release import release

SOURCES = sorted((Path(__file__).resolve().parents[1] / "notebooks/source").glob("*.py"))


@cache  # each is read at all levels
def notebook_of(source):
    return release.solved(source) or release.instructors(source)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_reader_of_any_level_meets_no_unknown_name(source, level):
    missing = missing_names(on_the_way(level, notebook_of(source)))
    assert not missing, "\n\n".join(f"{name} is not known in\n{cell}" for name, cell in missing)


SECTION = re.compile(r"^## (\d+)\. .* · \*(\w+)\*$", re.MULTILINE)
SAID = re.compile(
    r"\*Beginners\* (?:take|read) sections ([\d, toand]+), "
    r"\*intermediate\* readers all(?: but sections? ([\d and]+))?"
)


def numbers(words):
    """The numbers in words such as "1 to 3, 7 and 10"."""
    ranges = re.findall(r"(\d+)(?: to (\d+))?", words)
    return {n for first, last in ranges for n in range(int(first), int(last or first) + 1)}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_the_first_words_name_the_sections_that_are_marked(source):
    text = "\n".join(cell.source for cell in release.instructors(source).cells)
    marks = {int(number): mark for number, mark in SECTION.findall(text)}
    said = SAID.findall(" ".join(text.split()))
    assert len(said) == (re.search(r"\*Beginners\*\s+(take|read)\s", text) is not None)
    for beginners, left_out in said:
        assert numbers(beginners) == {n for n, mark in marks.items() if mark == "beginner"}
        assert numbers(left_out) == {n for n, mark in marks.items() if mark == "advanced"}


def cells(*sources):
    return [nbformat.v4.new_code_cell(source) for source in sources]


@pytest.mark.parametrize(
    ("sources", "missing"),
    [
        (["x = 1", "print(x)"], []),
        (["print(x)", "x = 1"], ["x"]),
        (["x += 1"], ["x"]),
        (["import a.b as b, c.d", "b, c, d"], ["d"]),
        (["[x * y for x in range(3)]", "x"], ["x", "y"]),
        (["def f(a):\n    return a + y", "f(1)"], ["y"]),
        (["def f(a):\n    return a + y", "y = 1", "f(1)"], []),
        (["def f(a):\n    return a + y", "a = 1"], []),
        (
            ["def f():\n    return g()", "def g():\n    return [z for _ in 'ab']", "h(f)"],
            ["h", "z"],
        ),
        (["total = 0\nfor k in range(3):\n    total += k", "k"], []),
        (["run(lambda comm: comm.rank + p)"], ["p", "run"]),
        (["%%px\nprint(comm.rank)\nx = 1", "%px print(x)", "print(x)"], ["x"]),
        (["class A:\n    def f(self):\n        return q", "A().f()"], ["q"]),
    ],
)
def test_what_counts_as_missing(sources, missing):
    assert sorted(name for name, _ in missing_names(cells(*sources))) == missing


def test_a_mark_holds_to_the_next_heading_of_its_depth():
    notebook = nbformat.v4.new_notebook()
    for name, heading in {
        "start": "# Title",
        "one": "## 1. Alone · *beginner*",
        "deep": "### Deep · *advanced*",
        "back": "### Back",
        "two": "## 2. Together · *intermediate*",
        "inner": "### Inner",
        "end": "## Three questions",
    }.items():
        notebook.cells += [nbformat.v4.new_markdown_cell(heading), *cells(name)]
    ways = [" ".join(cell.source for cell in on_the_way(level, notebook)) for level in LEVELS]
    assert ways == [
        "start one back end",
        "start one back two inner end",
        "start one deep back two inner end",
    ]
