"""A summary keeps every time; outliers are pointed at."""

import numpy as np
import pytest

from ddl_measure.interval import interval
from ddl_measure.summary import summarise


def test_outliers_are_pointed_at_and_stay():
    times = [1.0, 1.1, 9.0, 1.2, 1.05, 1.15, 0.1, 1.1]
    found = summarise(times)
    assert found.times == tuple(times)
    assert found.outliers == (2, 6)  # a time that is too good is one as well
    assert (found.median, found.low, found.high) == interval(times)
    assert found.confidence > 0.95
    assert str(found) == ("median 1.1 s (0.1 to 9 s in 99% of experiments; 8 times, 2 outliers)")
    assert summarise([3.0]).outliers == ()
    assert summarise([3.0]).confidence == 0


@pytest.mark.parametrize("times", [[], [[1.0, 2.0]], [1.0, np.inf]])
def test_a_summary_needs_one_row_of_finite_times(times):
    with pytest.raises(ValueError, match="give one row of times"):
        summarise(times)
