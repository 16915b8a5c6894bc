"""Wavefronts: every cell once, after the two it needs, and no schedule has fewer rounds."""

import pytest

from ddl_teach.theory import wavefront
from ddl_teach.theory.machine import Link

SHAPES = [(1, 1), (1, 7), (5, 1), (3, 8), (8, 3), (6, 6)]


@pytest.mark.parametrize(("layers", "steps"), SHAPES)
def test_every_cell_comes_once_and_after_what_it_needs(layers, steps):
    front_of = {}
    for front, active in enumerate(wavefront.fronts(layers, steps)):
        for layer in active:
            front_of[layer, front - layer] = front
    assert set(front_of) == {(layer, step) for layer in range(layers) for step in range(steps)}
    for (layer, step), front in front_of.items():
        needed = [front_of.get((layer - 1, step), -1), front_of.get((layer, step - 1), -1)]
        assert max(needed) == front - 1  # as early as it can be
    assert max(front_of.values()) + 1 == wavefront.wavefronts(layers, steps) == layers + steps - 1


@pytest.mark.parametrize(("layers", "steps"), SHAPES)
def test_the_parallelism_is_the_work_over_the_depth(layers, steps):
    depth = wavefront.wavefronts(layers, steps)
    assert wavefront.parallelism(layers, steps) == layers * steps / depth


@pytest.mark.parametrize("layers", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_layers_are_shared_out_whole_and_evenly(ranks, layers):
    parts = [wavefront.owned(layers, ranks, rank) for rank in range(ranks)]
    assert [layer for part in parts for layer in part] == list(range(layers))
    used = [len(part) for part in parts if part]
    assert len(used) == min(ranks, layers)
    assert max(used) - min(used) <= 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"layers": 0}, "layers"), ({"steps": 1.5}, "steps"), ({"ranks": 0}, "ranks"),
     ({"chunk": 0}, "chunk"), ({"cell": -1.0}, "cell"),
     ({"nbytes": -1}, "nbytes")],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(wrong, words):
    given = {"layers": 4, "steps": 8, "ranks": 2, "cell": 1.0, "nbytes": 8,
             "link": Link(0.0, 0.0)}  # fmt: skip
    with pytest.raises((ValueError, TypeError), match=words):
        wavefront.time(**(given | wrong))
