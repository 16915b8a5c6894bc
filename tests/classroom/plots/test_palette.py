"""Colours that stand together can be told apart, whichever cones a reader lacks.

Seen is what Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of
color vision deficiency", IEEE TVCG 15(6), 2009, give for severity 1.0: a matrix a dichromacy,
on linear RGB. Distances are those of CIELAB (CIE 15, D65), where 2.3 is just noticed side by side
(Mahy et al., Color Research and Application 19(2), 1994); asked for is four times that, for lines
are thin and lie apart.
"""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ddl_class.plots import (
    convolutions,
    course,
    memory,
    networks,
    search,
    staging,
)
from ddl_runtime.pictures import style

SEEN = {
    "by all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip
LEAST = 4 * 2.3
PALETTES = {
    "ranks": style.RANK_COLOURS,
    "kinds of spans": style.KIND_COLOURS.values(),
    "algorithms": style.ALGORITHM_COLOURS.values(),
    "predictions": [*course.SOURCE_COLOURS.values(), course.OTHER],
    "convolutions": [*convolutions.METHOD_COLOURS.values(), convolutions.OTHER],
    "parts of a step on a grid": [colour for _, colour in networks.PARTS.values()],
    "decisions of a search": [colour for colour, _ in search.DECISIONS.values()],
    "memory": memory.KINDS.values(),
    "memory's curves": memory.CURVES,
    "divisions": memory.LIMIT_COLOURS,
    "paths between devices": staging.PATH_COLOURS.values(),
    "streams of a device": staging.STREAM_COLOURS.values(),
    "progress": [colour for colour, *_ in course.STATES.values()],
    "passes of a pipeline": {colour for _, colour in networks.PASSES.values()},
    "spoiled or not": [convolutions.GOOD, convolutions.BAD],
}


BESIDE_RANKS = {**style.KIND_COLOURS, **dict(networks.PASSES.values())}


def linear(colour):
    """sRGB's parts of light, by IEC 61966-2-1."""
    parts = np.array(to_rgb(colour))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light):
    """CIELAB of linear sRGB, beside its own white."""
    x, y, z = TO_XYZ @ np.clip(light, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = (
        np.cbrt(it) if it > 216 / 24389 else (24389 / 27 * it + 16) / 116 for it in (x, y, z)
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one, other, seen):
    """How different two colours look to whom sees by this matrix."""
    return np.linalg.norm(lab(np.array(seen) @ linear(one)) - lab(np.array(seen) @ linear(other)))


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
def test_any_two_colours_of_a_palette_can_be_told_apart(palette, seen):
    close = {
        (one, other): round(float(distance(one, other, seen)), 1)
        for one, other in itertools.combinations(palette, 2)
        if distance(one, other, seen) < LEAST
    }
    assert close == {}


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
@pytest.mark.parametrize("colour", BESIDE_RANKS.values(), ids=BESIDE_RANKS)
def test_nothing_that_a_rank_does_looks_like_a_rank(colour, seen):
    apart = [float(distance(colour, rank, seen)) for rank in style.RANK_COLOURS]
    assert min(apart) > LEAST


def test_the_simulation_confuses_what_is_known_to_be_confused():
    red, green = "#cc3311", "#667733"
    assert distance(red, green, SEEN["by all cones"]) > 60
    assert distance(red, green, SEEN["deuteranopia"]) < 25
    blue, teal = "#44aa99", "#4499bb"
    assert (
        distance(blue, teal, SEEN["tritanopia"]) < distance(blue, teal, SEEN["by all cones"]) / 2
    )
    for seen in SEEN.values():  # greys are the same for everybody
        assert np.allclose(lab(np.array(seen) @ linear("#888888")), lab(linear("#888888")), atol=1)
