"""A majority of independent members, against all their outcomes one by one."""

import math
from itertools import product

import pytest

from benchmarks.ensembles import majority_error


@pytest.mark.parametrize("members", range(1, 9))
@pytest.mark.parametrize("error", [0.0, 0.1, 0.5, 0.8])
def test_it_is_the_sum_over_all_outcomes(error, members):
    expected = 0.0
    for wrong in product((0, 1), repeat=members):
        chance = math.prod(error if one else 1 - error for one in wrong)
        expected += chance * (0.5 if 2 * sum(wrong) == members else 2 * sum(wrong) > members)
    assert majority_error(members, error) == pytest.approx(expected)


def test_more_members_help_below_one_half_as_fast_as_hoeffding_says():
    errors = [majority_error(members, 0.3) for members in range(1, 60, 2)]
    assert errors == sorted(errors, reverse=True)
    for place, error in enumerate(errors):
        assert error <= math.exp(-2 * (2 * place + 1) * 0.2**2)
    assert majority_error(31, 0.6) > 0.6


def test_what_is_no_probability_is_refused():
    with pytest.raises(ValueError, match="error=1"):
        majority_error(3, 1.5)
    with pytest.raises(ValueError, match="members"):
        majority_error(0, 0.5)
