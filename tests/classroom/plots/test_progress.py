"""Progress as a picture: every exercise a tile, its state a colour and a sign."""

import itertools
from collections import Counter

import pytest
from matplotlib.colors import to_rgb

from ddl_class.plots.course import STATES, Column, Tile, plot_progress
from ddl_runtime.pictures.style import PIXELS_PER_INCH


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def course(units, exercises):
    states = itertools.cycle(STATES)
    return [
        Column(f"{unit:02} A unit", [Tile(f"task {i}", i, next(states)) for i in range(exercises)])
        for unit in range(units)
    ]


@pytest.mark.parametrize(("units", "exercises"), [(0, 0), (1, 1), (3, 4), (21, 5)])
def test_each_exercise_is_drawn_once(units, exercises):
    figure = plot_progress(course(units, exercises))
    assert len(figure.axes[0].patches) == units * exercises
    figure.canvas.draw()
    assert figure.get_size_inches()[0] <= 9  # a wider one is made smaller by the page


def test_letters_can_be_read():
    figure = plot_progress(course(21, 5))
    least = min(text.get_fontsize() for text in figure.axes[0].texts)
    assert least / 72 * PIXELS_PER_INCH >= 12


@pytest.mark.parametrize("units", [1, 3, 21])
def test_each_box_says_which_exercise_it_is(units):
    written = words(plot_progress(course(units, 4)))
    named = Counter(text[2:] for text in written if " task " in text)
    assert named == {f"task {exercise}": units for exercise in range(4)}


def test_title_and_alt_text_count():
    tiles = [Tile("one", 2, "solved"), Tile("two", 3, "tried")]
    figure = plot_progress([Column("06 Rings", tiles)])
    finding = "1 of 2 exercises solved, 2 of 5 points"
    assert figure.axes[0].get_title(loc="left") == finding
    assert figure.alt == f"Progress over the course. {finding}. 06 Rings: one solved, two tried."


def test_states_can_be_told_apart_without_colours():
    assert len({sign for _, _, sign in STATES.values()}) == len(STATES)
    for colour, ink, _ in STATES.values():
        assert abs(sum(to_rgb(colour)) - sum(to_rgb(ink))) > 0.9
