"""The look: colours that mean one thing, numbers that people read."""

import base64
import itertools

import matplotlib
import numpy as np
import pytest

from ddl_runtime.pictures.style import new_axes, rank_colour
from ddl_runtime.pictures.words import size_text, time_text


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
