"""Quanta of work: what is lost, and what the unluckiest of many ranks loses."""

import itertools

import numpy as np
import pytest

from ddl_teach.measure.noise import Quanta, work_quanta


def test_what_is_lost_is_what_is_above_the_least():
    quanta = Quanta(np.arange(4.0), np.array([2.0, 1.0, 1.0, 4.0]), 3)
    assert quanta.lost.tolist() == [1, 0, 0, 3]
    assert quanta.share_lost == 0.5


@pytest.mark.parametrize("ranks", [1, 2, 5, 1000])
def test_ranks_that_wait_for_each_other_pay_for_the_unluckiest(ranks):
    """Of 1,000 quanta one takes ten times as long: P draws meet it with chance 1 - 0.999^P."""
    seconds = np.full(1000, 2.0)
    seconds[500] = 20.0
    quanta = Quanta(np.arange(1000.0), seconds, 0)
    assert quanta.slow_down(ranks) == pytest.approx(1 + 9 * (1 - 0.999**ranks))


def test_quanta_are_as_long_as_asked_for_by_the_clock_that_is_given():
    """On a clock that counts how often it was looked at, every quantum takes one tick."""
    looks = itertools.count()
    found = work_quanta(5, seconds=3.0, clock=lambda: float(next(looks)))
    assert found.seconds.tolist() == [1] * 5
    assert found.starts.tolist() == [0, 3, 6, 9, 12]
    assert found.share_lost == 0


def test_this_machines_quanta():
    found = work_quanta(20, 1e-4)
    assert len(found.seconds) == len(found.starts) == 20
    assert (found.seconds > 0).all()
    assert (np.diff(found.starts) >= found.seconds[:-1]).all()
    assert 0 <= found.share_lost < 1
    most = found.seconds.max() / found.seconds.min()
    assert 1 <= found.slow_down(1) <= found.slow_down(64) <= most * (1 + 1e-9)
    assert found.interruptions >= 0


@pytest.mark.parametrize("wrong", [{"count": 1}, {"seconds": 0.0}, {"seconds": np.inf}])
def test_quanta_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="must be at least 2"):
        work_quanta(**wrong)
    with pytest.raises(ValueError, match="ranks=0"):
        Quanta(np.zeros(2), np.ones(2), 0).slow_down(0)
