import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.roof import Roof

POSITIVE = st.floats(1e-3, 1e15)


@given(POSITIVE, POSITIVE, POSITIVE, POSITIVE)
def test_the_roof_says_of_speeds_what_the_bound_says_of_times(operations, rate, work, nbytes):
    roof = Roof(operations, rate)
    seconds, intensity = roof.seconds(work, nbytes), work / nbytes
    assert work / seconds == pytest.approx(roof.attainable(intensity), rel=1e-9)
    assert seconds >= work / operations * (1 - 1e-12)
    assert seconds >= nbytes / rate * (1 - 1e-12)
    # The slower of the two is reached: the bound is no lower than it must be.
    assert seconds == pytest.approx(max(work / operations, nbytes / rate))


def test_slope_and_top_meet_at_the_ridge():
    roof = Roof(100e9, 20e9)
    assert roof.ridge == 5
    below, at, above = roof.attainable(np.array([2.5, 5, 10]))
    assert below == 50e9
    assert at == above == 100e9
    assert (roof.limit(4.9), roof.limit(5.1)) == ("memory", "arithmetic")


@pytest.mark.parametrize("wrong", [0, -1.0, float("inf"), float("nan")])
def test_a_ceiling_is_a_positive_number(wrong):
    with pytest.raises(ValueError, match="operations_per_second must be a positive"):
        Roof(wrong, 1.0)
    with pytest.raises(ValueError, match="bytes_per_second must be a positive"):
        Roof(1.0, wrong)
