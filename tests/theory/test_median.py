"""Which ordered times enclose a median, against the binomial distribution."""

import pytest
from scipy.stats import binom

from ddl_teach.theory.median import enclosing


@pytest.mark.parametrize("count", [6, 11, 30, 101])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_the_two_ends_are_the_narrowest_that_are_sure_enough(count, confidence):
    low, high = enclosing(count, confidence)
    assert low + high == count - 1
    missed = [2 * binom.cdf(place, count, 0.5) for place in (low, low + 1)]
    assert low == 0 or missed[0] <= 1 - confidence + 1e-9
    assert missed[1] > 1 - confidence


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5])
def test_a_confidence_is_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="is a share between"):
        enclosing(10, confidence)


def test_no_times_have_no_median():
    with pytest.raises(ValueError, match="at least one"):
        enclosing(0)
