"""Winograd's transforms are exact, for any tile."""

import random
from fractions import Fraction

import numpy as np
import pytest

from ddl_teach.operators.convolution.winograd_matrices import matrices, points


@pytest.mark.parametrize("taps", range(1, 8))
@pytest.mark.parametrize("outputs", range(1, 9))
def test_any_tile_gives_the_correlation_exactly(outputs, taps):
    draw = random.Random(outputs)
    data, kernel, result = matrices(outputs, taps)
    size = outputs + taps - 1
    assert data.shape == (size, size)
    assert kernel.shape == (size, taps)
    assert result.shape == (outputs, size)
    for _ in range(3):
        w = np.array([Fraction(draw.randint(-99, 99), 7) for _ in range(taps)])
        x = np.array([Fraction(draw.randint(-99, 99), 5) for _ in range(size)])
        y = result @ ((kernel @ w) * (data @ x))
        assert list(y) == [sum(w * x[place : place + taps]) for place in range(outputs)]


def test_f23_and_f43_are_lavin_and_grays_up_to_the_scale_of_a_row():
    data, kernel, result = matrices(4, 3)
    assert data[0].tolist() == [4, 0, -5, 0, 1, 0]
    assert kernel[1].tolist() == [Fraction(-1, 6)] * 3
    assert result[3].tolist() == [0, 1, -1, 8, -8, 1]
    data, kernel, _ = matrices(2, 3)
    assert (-data[0]).tolist() == [1, 0, -1, 0]
    assert kernel[1].tolist() == [Fraction(1, 2)] * 3


def test_no_point_comes_twice():
    assert points(7) == [0, 1, -1, 2, -2, Fraction(1, 2), Fraction(-1, 2)]
    assert len(set(points(30))) == 30
