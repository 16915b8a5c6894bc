"""A summary keeps every time; a clock's steps are seen."""

import itertools

import numpy as np
import pytest

from ddl_teach.measure.clock_resolution import resolution
from ddl_teach.measure.interval import interval
from ddl_teach.measure.summary import summarise


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


@pytest.mark.parametrize(("tick", "reading"), [(1e-3, 1e-5), (1e-9, 4e-8)])
def test_a_clocks_step_and_the_cost_of_a_reading_are_found(tick, reading):
    """On a clock that moves in ticks while each reading takes some time."""
    looks = itertools.count()
    found = resolution(lambda: int(next(looks) * reading / tick + 0.5) * tick)
    assert found.step == pytest.approx(max(tick, reading), rel=0.05)
    assert found.cost == pytest.approx(reading, rel=0.05)
    assert found.shortest(0.01) == pytest.approx(100 * (found.step + found.cost))
    with pytest.raises(ValueError, match="within=2"):
        found.shortest(2)


def test_this_machines_clock_moves_and_one_that_stands_is_refused(monkeypatch):
    assert 0 < resolution().step < 0.1
    monkeypatch.setattr("ddl_teach.measure.clock_resolution.MOST", 5000)
    with pytest.raises(ValueError, match="stood still through 5,000 readings"):
        resolution(lambda: 1.0)
