"""The look: colours that mean one thing, numbers that people read."""

import base64
import itertools

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ddl_teach.plots import convolutions
from ddl_teach.plots.prediction import COLOURS, OTHER
from ddl_teach.plots.style import (
    ALGORITHM_COLOURS,
    KIND_COLOURS,
    RANK_COLOURS,
    new_axes,
    rank_colour,
    size_text,
    time_text,
)

# How the cones that are left see: Viénot, Brettel and Mollon, 1999, on linear light.
TO_CONES = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714],
                     [0.0299566, 0.184309, 1.46709]])  # fmt: skip
BLINDNESS = {
    "protanopia": np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]]),
    "deuteranopia": np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]),
}
PALETTES = {
    "kinds": KIND_COLOURS.values(),
    "ranks": RANK_COLOURS,
    "algorithms": ALGORITHM_COLOURS.values(),
    "predictions": [*COLOURS.values(), OTHER],
    "convolutions": [*convolutions.METHOD_COLOURS.values(), convolutions.OTHER],
}


def seen(colour, blindness):
    linear = np.array(to_rgb(colour)) ** 2.2
    back = np.linalg.inv(TO_CONES) @ BLINDNESS[blindness] @ TO_CONES
    return (back @ linear).clip(0, 1) ** (1 / 2.2)


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
def test_colour_blind_readers_tell_any_two_apart(palette, blindness):
    for one, other in itertools.combinations(palette, 2):
        distance = np.linalg.norm(seen(one, blindness) - seen(other, blindness))
        assert distance > 0.1, (one, other)


def test_a_rank_never_changes_its_colour_and_the_first_36_differ():
    colours = [rank_colour(rank) for rank in range(36)]
    assert colours == [rank_colour(rank) for rank in range(36)]
    for one, other in itertools.combinations(colours, 2):
        assert np.abs(np.subtract(one, other)).max() > 0.04
    assert rank_colour(65_535) in colours


def test_drawing_leaves_the_readers_own_look_alone():
    before = dict(matplotlib.rcParams)
    new_axes()
    assert dict(matplotlib.rcParams) == before


def test_a_picture_shows_itself_with_its_alt_text():
    axes = new_axes(4, 2)
    axes.figure.alt = 'Two lines, "one" < two.'
    data, shown = axes.figure._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert shown["image/png"] == {"width": 400, "height": 200, "alt": axes.figure.alt}
    assert data["text/html"].endswith(
        ' width="400" height="200" alt="Two lines, &quot;one&quot; &lt; two.">'
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (2.5, "2.5 s"), (0.25, "250 ms"), (3.14159e-4, "314 µs"), (4e-10, "0.4 ns")],
)
def test_times_are_read_as_people_say_them(seconds, text):
    assert time_text(seconds) == text


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(0, "0 B"), (1000, "1000 B"), (1536, "1.5 KiB"), (2**20, "1 MiB"), (2**52, "4096 TiB")],
)
def test_sizes_are_read_as_people_say_them(nbytes, text):
    assert size_text(nbytes) == text
