"""Wider networks' starts and rates, against a pass through layers that start with them."""

import numpy as np
import pytest

from ddl_teach.theory.mup import multipliers


@pytest.mark.parametrize("kind", ["input", "hidden", "output", "vector"])
def test_a_network_of_the_known_width_changes_nothing(kind):
    assert multipliers(kind, 48, 48) == (1.0, 1.0)


@pytest.mark.parametrize("width", [64, 256, 1024])
def test_what_an_embedding_holds_is_as_large_at_any_width(width):
    base, random = 16, np.random.default_rng(width)
    start, _ = multipliers("input", width, base)
    embedded = random.normal(scale=start / width**0.5, size=(400, width))
    assert embedded.std() == pytest.approx(base**-0.5, rel=0.05)


@pytest.mark.parametrize("kind", ["hidden", "output"])
@pytest.mark.parametrize("width", [64, 256, 1024])
def test_a_step_changes_a_sum_over_the_width_as_much_at_any_width(kind, width):
    base = 16
    _, rate = multipliers(kind, width, base)
    assert np.full(width, rate).sum() == pytest.approx(base)


@pytest.mark.parametrize("width", [64, 1024])
def test_answers_begin_smaller_as_the_network_becomes_wider(width):
    start, _ = multipliers("output", width, 16)
    assert start**2 * width == pytest.approx(16)
