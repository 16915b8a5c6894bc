"""Contestants take turns."""

from functools import partial
from itertools import pairwise

import pytest

from ddl_measure.repetitions import side_by_side


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


def test_none_always_follows_the_same():
    calls = []
    ways = {name: partial(calls.append, name) for name in "abcde"}
    side_by_side(ways, repetitions=10, warm_up=0)
    turns = [calls[at : at + 5] for at in range(0, 50, 5)]
    before = {pair for turn in turns for pair in pairwise(turn)}
    circle = [*pairwise("abcdea")]
    assert before == {*circle, *((later, earlier) for earlier, later in circle)}


def test_without_repetitions_there_is_no_median():
    with pytest.raises(ValueError, match="repetitions=0"):
        side_by_side({"nothing": lambda: None}, repetitions=0)


def test_time_is_told_by_the_clock_that_is_given():
    """Of two ways, one waits for three ticks and one for one."""
    now = [0.0]

    def waiting(ticks):
        now[0] += ticks

    ways = {"slow": lambda: waiting(3), "fast": lambda: waiting(1)}
    seconds = side_by_side(ways, repetitions=4, before=lambda: waiting(100), clock=lambda: now[0])
    assert {name: times.tolist() for name, times in seconds.items()} == {
        "slow": [3] * 4, "fast": [1] * 4,
    }  # fmt: skip
