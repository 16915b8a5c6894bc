"""What can be counted of plain English in decks, guides, the book: long sentences, hard turns."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 25  # words of a sentence; the house aims at 20
# How many longer sentences stand in a text today; a number may only fall.
LONGER = {
    "book/pages/index.md": 1,
    "docs/answers.md": 12,
    "docs/box.md": 1,
    "docs/cuda_aware_mpi.md": 2,
    "docs/deep500_columns.md": 1,
    "docs/deep500_levels.md": 1,
    "docs/instructor_guide.md": 4,
    "docs/other_courses.md": 1,
    "docs/the_field.md": 2,
}
HARD = {  # turns that a reader whose second language is English stops at
    "a verb before its subject": r"(?:^|[.:] )Comes (?:a|an|the) ",
    "who … who": r"\b[Ww]ho can \w+ \w+s\b",
    "notwithstanding": r"\bnotwithstanding\b",
    "albeit": r"\balbeit\b",
    "lest": r"\blest\b",
    "thereof, whereby, herein": r"\b(?:there|where|here)(?:of|by|in|upon|with)\b(?<!therein)",
    "in order to": r"\b[Ii]n order to\b",
    "utilise": r"\b[Uu]tili[sz]e[sd]?\b",
    "obviously": r"\b(?:[Oo]bviously|[Tt]rivially|[Cc]learly)\b",
}
TEXTS = sorted(
    [*ROOT.glob("slides/decks/*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("book/pages/**/*.md")]
)
NAMES = [path.relative_to(ROOT).as_posix() for path in TEXTS]
LEFT_OUT = re.compile(
    r"```.*?```|^    .*?$|\{\{.*?\}\}|^\|.*?$|<!-- made:.*?<!-- end -->"
    r"|<p class=\"source\">.*?</p>|<!-- Notes(?:, \d+ minutes?)?:|-->|<[^>]+>"
    r"|\$[^$]*\$|!\[.*?\]\(.*?\)",
    re.DOTALL | re.MULTILINE,
)


@cache
def sentences(text):
    """The sentences of a Markdown text; lists, headings and paragraphs end one."""
    prose = LEFT_OUT.sub(" ", text)
    blocks = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.|#+) ", prose)
    joined = (" ".join(block.split()) for block in blocks)
    return [one for block in joined for one in re.split(r"(?<=[.!?:;])[”\"*)]* +", block) if one]


def longer(text):
    """The sentences that have too many words."""
    return [one for one in sentences(text) if len(re.findall(r"\w[\w'’.,-]*", one)) > LONGEST]


@pytest.mark.parametrize("name", NAMES)
def test_a_text_has_no_more_long_sentences_than_it_had(name):
    found = longer((ROOT / name).read_text(encoding="utf-8"))
    assert len(found) <= LONGER.get(name, 0), "\n".join(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_has_no_hard_turns(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    found = [(what, one) for one in sentences(text) for what, form in HARD.items()
             if re.search(form, one)]  # fmt: skip
    assert found == []


def test_long_sentences_and_hard_turns_are_found():
    assert (
        len(longer("A short one. " + "word " * (LONGEST + 1) + ".\n\n- " + "word " * LONGEST)) == 1
    )
    assert longer("| " + "word " * 40 + "|\n\n```\n" + "word " * 40 + "\n```\n") == []
    assert re.search(HARD["a verb before its subject"], "Comes an activation, it goes forward")
    assert re.search(HARD["who … who"], "who can work works")
