"""What can be counted of plain English, wherever learners read: long sentences, hard turns."""

import re
from functools import cache

import pytest

from tests.texts_read_aloud import PACKAGES, docstrings, of_docstrings, prose, texts

LONGEST = 25  # words of a sentence; the house aims at 20
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
    "a machine that is a person": r"\b(?:rank|worker|node|server|process|GPU|engine)s? whom?\b",
    "by means of": r"\b[Bb]y means of\b",
    "prior to": r"\b[Pp]rior to\b",
    "wherever it be": r"\b(?:[Bb]e it|[Ww]ere it|[Hh]ad it)\b",
}
RIDDLES = {  # which number, of what, by whom: a reader must know it already
    "so many": r"\bso many\b",
    "none where there is none": r"\b(?:[Nn]one|[Nn]othing) where there (?:is|are) n",
    "what came of": r"\b[Ww]hat came of\b",
    "those of": r"^(?:Those|The same) (?:of|that|for|in|as)\b",
    "it all": r"\bit all\b",
    "whoever": r"\b[Ww]hoever\b",
}
NAMES = list(prose())
LEFT_OUT = re.compile(
    r"```.*?```|^    .*?$|\{\{.*?\}\}|^\|.*?$|<!-- made:.*?<!-- end -->"
    r"|<p class=\"source\">.*?</p>|<!-- Notes(?:, \d+ minutes?)?:|-->"
    r"|</?[A-Za-z!][^<>]*>|\]\([^)]*\)"
    r"|\$\$.*?\$\$|\$[^$]*\$|!\[.*?\]\(.*?\)"
    r"|\([^()]*\b(?:19|20)\d\d[^()]*\)",  # a citation
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
def test_a_text_has_no_long_sentences(name):
    assert longer(prose()[name]) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_text_has_no_hard_turns(name):
    text = prose()[name]
    found = [(what, one) for one in sentences(text) for what, form in HARD.items()
             if re.search(form, one)]  # fmt: skip
    assert found == []


def test_errors_have_no_long_sentences_and_no_hard_turns():
    errors = {name: text for name, text in texts().items() if name not in prose()}
    assert len(errors) > 100
    long = {name: found for name, text in errors.items() if (found := longer(text))}
    assert long.keys() <= {"ddl_measure/scaling.py"}  # what to write, in full
    hard = [(name, one) for name, text in errors.items() for one in sentences(text)
            if any(re.search(form, one) for form in HARD.values())]  # fmt: skip
    assert hard == []


def test_prose_and_errors_have_no_riddles():
    found = [(name, one) for name, text in texts().items() for one in sentences(text)
             if any(re.search(form, one) for form in RIDDLES.values())]  # fmt: skip
    assert found == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_have_no_long_sentences(package):
    assert [one for text in docstrings()[package] for one in longer(text)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_have_no_hard_turns(package):
    assert matching(package, HARD) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_have_no_riddles(package):
    assert matching(package, RIDDLES) == []


def matching(package, forms):
    """The sentences of a package's docstrings in which one of the forms stands."""
    return [one for text in docstrings()[package] for one in sentences(text)
            if any(re.search(form, one) for form in forms.values())]  # fmt: skip


def test_tables_and_examples_of_a_docstring_are_no_sentences(tmp_path):
    path = tmp_path / "documented.py"
    path.write_text(
        '"""One idea.\n\nring      the fewest bytes\ntree      a vector to all\n"""\n\n\n'
        'def best(n):\n    """The best of `n`.\n\n    >>> best(3)\n    2\n    """\n'
    )
    assert [sentences(text) for text in of_docstrings(path)] == [
        ["One idea."],
        ["The best of `n`."],
    ]
    assert all(len(texts) > 500 for texts in docstrings().values())


def test_long_sentences_and_hard_turns_are_found():
    assert (
        len(longer("A short one. " + "word " * (LONGEST + 1) + ".\n\n- " + "word " * LONGEST)) == 1
    )
    assert longer("| " + "word " * 40 + "|\n\n```\n" + "word " * 40 + "\n```\n") == []
    assert re.search(HARD["a verb before its subject"], "Comes an activation, it goes forward")
    assert re.search(HARD["who … who"], "who can work works")
    assert re.search(RIDDLES["those of"], "Those that look up: the tree")
