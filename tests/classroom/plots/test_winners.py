"""The map of winners: what it says is what its data say."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from ddl_class.plots.winners import plot_winners

RANKS = [2, 4, 8]
SIZES = 2.0 ** np.arange(6, 20, 2)
TIMES = {"ring": 1e-5 + SIZES * 1e-9, "recursive_doubling": 2e-6 + SIZES * 4e-9}
WINNERS = np.array([["recursive_doubling"] * 3 + ["ring"] * 4] * 3)


def draw(**options):
    return plot_winners(WINNERS, RANKS, SIZES, TIMES, **{"here": (4, 2.0**6), **options})


def words(drawing):
    root = ElementTree.fromstring(drawing.svg)
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_title_names_the_winner_and_the_next():
    found = "4 ranks, 64 B: recursive doubling wins, ring takes 4.46 times as long"
    drawing = draw()
    assert found in words(drawing)
    assert found in drawing.alt


def test_the_alt_text_follows_the_point():
    assert "4 ranks, 256 KiB: ring wins" in draw(here=(4, 2.0**18)).alt
    assert "recursive doubling below 4 KiB, ring from there on" in draw().alt


def test_equal_times_have_no_winner():
    equal = {"ring": TIMES["ring"], "rabenseifner": TIMES["ring"].copy()}
    drawing = plot_winners(np.full((3, 7), "ring"), RANKS, SIZES, equal, (8, 64.0))
    assert "ring and Rabenseifner are equally fast" in drawing.alt
    assert "With 8 ranks: ring at every size" in drawing.alt


def test_axes_have_units_and_every_time_is_written():
    shown = words(draw())
    assert "vector of each rank (bytes)" in shown
    assert {"10.1 µs", "2.26 µs"} <= set(shown)


def test_a_point_outside_of_the_map_is_refused():
    with pytest.raises(ValueError, match="3 is not one of the map's ranks, 2 to 8"):
        draw(here=(3, 64.0))


def test_a_drawing_carries_its_alt_text_into_a_page():
    bundle = draw()._repr_mimebundle_()
    assert f'alt="{draw().alt}"' in bundle["text/html"]
    assert bundle["image/svg+xml"].startswith("<svg")
