"""Each word of units, decks, guides, the book and errors is plain, or the glossary explains it."""

import re

import pytest

from tests.texts_read_aloud import (
    NAMES,
    PLAIN,
    known,
    small_names,
    stems,
    texts,
    unexplained,
    words,
)


def test_every_word_has_an_explanation():
    places = unexplained()
    assert not places, (
        "explain a new word in book/glossary.toml, take a plainer one, put it into "
        "tests/plain_words.txt if any reader knows it, or a name that is written small into "
        f"tests/names_written_small.txt: {sorted(places)}"
    )


def test_a_plain_word_stands_once_and_is_used():
    plain = PLAIN.read_text(encoding="utf-8").split()
    assert plain == sorted(set(plain))
    names = NAMES.read_text(encoding="utf-8").split()
    assert names == sorted(set(names))
    assert small_names().isdisjoint(plain)
    used = {stem for text in texts().values() for word in words(text) for stem in stems(word)}
    assert len(set(plain) - used) < len(plain) / 50  # words come and go
    assert small_names() <= used


@pytest.mark.parametrize(
    "kind",
    ["slides/decks/", "docs/", "book/", "notebooks/source/", "ddl_class/exercises/", "ddl_teach/"],
)
def test_all_kinds_of_texts_are_read(kind):
    assert sum(len(words(text)) for name, text in texts().items() if name.startswith(kind)) > 500


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ranks wait `x.shape` $x$ and Adam", ["ranks", "wait", "and"]),
        ("see [the guide](guide.md) (Dean and others, 2012)", ["see", "the", "guide"]),
        ('a "Title in full" of os.path, and `code`', ["and"]),
    ],
)
def test_code_names_and_titles_are_no_words(text, left):
    assert words(text) == left


@pytest.mark.parametrize(
    ("word", "stem"),
    [("latencies", "latency"), ("cutting", "cut"), ("caches", "cache"), ("unpacked", "pack"),
     ("largest", "large"), ("timings", "time")],
)  # fmt: skip
def test_a_word_is_known_by_what_it_comes_from(word, stem):
    assert stem in stems(word)


def test_a_word_that_is_made_up_is_found():
    assert not known().intersection(stems("flummoxing"))
    assert re.fullmatch(r"[a-z\s]+", PLAIN.read_text(encoding="utf-8"))
