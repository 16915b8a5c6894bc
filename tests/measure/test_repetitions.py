"""Contestants take turns, and a median knows how sure it is."""

import numpy as np
import pytest

from ddl_teach.measure.interval import interval
from ddl_teach.measure.repetitions import side_by_side


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_everybody_is_first_as_often(count):
    calls = []
    names = [f"way {n}" for n in range(count)]
    ways = {name: lambda name=name: calls.append(name) for name in names}
    seconds = side_by_side(ways, repetitions=3 * count, warm_up=2)
    assert calls[: 2 * count] == names * 2
    turns = [calls[at : at + count] for at in range(2 * count, len(calls), count)]
    assert all(sorted(turn) == names for turn in turns)
    assert sorted(turn[0] for turn in turns) == sorted(names * 3)
    assert {name: len(times) for name, times in seconds.items()} == dict.fromkeys(names, 3 * count)
    assert all((times >= 0).all() for times in seconds.values())


def test_without_repetitions_there_is_no_median():
    with pytest.raises(ValueError, match="repetitions=0"):
        side_by_side({"nothing": lambda: None}, repetitions=0)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8])
def test_few_times_enclose_nothing_less_than_all(count):
    times = np.arange(count)[::-1]
    median, low, high = interval(times)
    assert low <= median == np.median(times) <= high
    if count <= 4:
        assert (low, high) == (0, count - 1)


def test_the_interval_holds_the_true_median_in_95_of_100():
    generator = np.random.default_rng(3)
    for count in (11, 51, 101):
        samples = generator.exponential(size=(2000, count))
        ends = np.array([interval(sample)[1:] for sample in samples])
        held = np.mean((ends[:, 0] <= np.log(2)) & (np.log(2) <= ends[:, 1]))
        assert held >= 0.94
