"""Decks as they are written: few words and a figure on a slide, notes to speak from, minutes."""

import re
from functools import cache

import pytest

from ddl_teach.planning.presets import ACCELERATORS
from docs.make_guides import schedules
from slides.deck import NOTES, decks
from slides.figures.start import trainings

MOST_WORDS = 40  # on a slide, with its heading; without code, pointers to exercises and sources
FEWEST_SPOKEN, MOST_SPOKEN = 60, 120  # words of a slide's notes
LEAST_SHARE = 0.8  # of the slides that tell have a figure; those that ask need none
PICTURE = re.compile(r"\{\{ (?:figure|moving)\(")
UNCOUNTED = re.compile(
    r"```.*?```|<p class=\"source\">.*?</p>|\{\{.*?\}\}|<[^>]+>|\$[^$]*\$", re.DOTALL
)
DECKS = pytest.mark.parametrize("path", decks(), ids=lambda path: path.stem)


@cache
def slides(path):
    """Each slide's own text, its notes and its minutes; a question of the bank has minutes."""
    written = []
    for text in re.split(r"^---$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        notes = NOTES.search(text)
        if notes is None:
            assert "{{ clicker(" in text, f"{path.name}, slide {len(written) + 1} has no notes"
            written.append((text, "", 3))
        else:
            written.append((NOTES.sub("", text), notes[2], int(notes[1] or 0)))
    return written


def words(text):
    """How many words a text has."""
    return len(re.findall(r"\w[\w'’.,-]*", text))


def asks(text):
    """Whether a slide only asks, and shows nothing."""
    return "{{ clicker(" in text or 'class="asks"' in text


@DECKS
def test_a_slide_has_few_words(path):
    counts = {
        place: words(UNCOUNTED.sub(" ", text))
        for place, (text, _, _) in enumerate(slides(path), 1)
        if not asks(text)
    }
    assert {place: count for place, count in counts.items() if count > MOST_WORDS} == {}


@DECKS
def test_most_slides_that_tell_have_a_figure(path):
    telling = [text for text, _, _ in slides(path) if not asks(text)]
    shown = sum(1 for text in telling if PICTURE.search(text))
    assert shown / len(telling) >= LEAST_SHARE, f"{shown} of {len(telling)}"


@DECKS
def test_notes_are_enough_to_speak_from(path):
    counts = {place: words(re.sub(r"\{\{.*?\}\}", "N", notes))
              for place, (_, notes, _) in enumerate(slides(path), 1) if notes}  # fmt: skip
    other = {n: count for n, count in counts.items() if not FEWEST_SPOKEN <= count <= MOST_SPOKEN}
    assert other == {}


@DECKS
def test_notes_say_what_to_ask(path):
    silent = [place for place, (_, notes, _) in enumerate(slides(path), 1)
              if notes and not re.search(r"\b[Aa]sk\b|\?", notes)]  # fmt: skip
    assert silent == []


@DECKS
def test_a_deck_asks_a_question_of_the_bank_and_ends_with_three(path):
    texts = [text for text, _, _ in slides(path)]
    assert any("{{ clicker(" in text for text in texts)
    assert 'class="asks"' in texts[-1]
    assert len(re.findall(r"^\d\. ", texts[-1], re.MULTILINE)) == 3


def test_minutes_of_slides_add_up_to_what_each_schedule_says():
    minutes = [[spent for _, _, spent in slides(path)] for path in decks()]
    wrong = {
        (name, part.deck, part.begins, part.minutes): planned
        for name, schedule in schedules().items()
        for part in schedule.parts
        if part.deck
        and (planned := sum(minutes[part.deck - 1][slide - 1] for slide in part.slides))
        != part.minutes
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [("one two-fold 3.5 words", 4), ("{{ figure('a.b') }} seen", 1), ("$x + y$ is", 1)],
)
def test_words_are_counted(text, count):
    assert words(UNCOUNTED.sub(" ", text)) == count


def test_rates_of_the_three_distances_differ_as_the_notes_say():
    gpu = ACCELERATORS["H100"]
    card = gpu.node_rate / gpu.ranks_a_node
    assert round(gpu.memory_rate / gpu.inside_rate) == 7
    assert round(gpu.inside_rate / card) == 9
    [deck] = [path for path in decks() if path.stem == "7_cluster"]
    assert "About seven, and then nine" in " ".join(deck.read_text(encoding="utf-8").split())


def test_the_data_of_trainings_end_in_the_year_that_is_said():
    last = max(training.year for training in trainings())
    [deck] = [path for path in decks() if path.stem == "1_start"]
    said = re.findall(r"ends? in\s+(\d{4})", deck.read_text(encoding="utf-8"))
    assert said
    assert {int(year) for year in said} == {last}
