"""How often to save: the formula against failures that are thrown, and Young's against it."""

import math

import numpy as np
import pytest

from ddl_teach.theory.failures import (
    expected,
    shrinking_wins_below,
    young,
)

RUNS = 20_000


def thrown(random, stretch, restart, mean):
    """Seconds until one stretch has gone through, in each of so many runs: failures thrown."""
    seconds, undone = np.zeros(RUNS), np.ones(RUNS, bool)
    restarting = np.zeros(RUNS, bool)
    while undone.any():
        until_failure = random.exponential(mean, RUNS)
        needed = np.where(restarting, restart, stretch)
        through = until_failure >= needed
        seconds += np.where(undone, np.minimum(until_failure, needed), 0)
        undone &= ~(through & ~restarting)
        restarting = np.where(through, False, True)
    return seconds


@pytest.mark.parametrize(
    ("every", "save", "restart", "mean"),
    [(10, 1, 3, 100), (30, 5, 20, 20), (1, 0, 0, 1), (5, 2, 0, 4)],
)
def test_the_expected_time_is_that_of_thrown_failures(every, save, restart, mean):
    seconds = thrown(np.random.default_rng(0), every + save, restart, mean)
    work = 7 * every
    off = abs(7 * seconds.mean() - expected(work, every, save, restart, mean))
    assert off < 5 * 7 * seconds.std() / math.sqrt(RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("mean", [50.0, 1e3, 1e5])
@pytest.mark.parametrize("save", [0.1, 1.0, 20.0])
@pytest.mark.sampled(3)
def test_young_comes_near_the_best_interval_where_saving_is_short(save, mean):
    grid = np.geomspace(save / 100, 20 * mean, 20_001)
    times = [expected(1.0, every, save, 0.0, mean) for every in grid]
    best = min(times)
    assert (
        expected(1.0, young(save, mean), save, 0.0, mean) < (1 + 0.1 * save / mean + 1e-3) * best
    )


@pytest.mark.parametrize("ranks", [2, 3, 8, 64])
def test_who_is_told_when_shrinking_wins_finds_both_alike_there(ranks):
    left = shrinking_wins_below(ranks, notice=0.5, restart=4.0, again=1.5)
    for part, sooner in ((0.9, True), (1.1, False)):
        work = part * left
        assert (0.5 + work * ranks / (ranks - 1) < 4.0 + 1.5 + work) == sooner


def test_shrinking_never_wins_where_a_restart_is_cheaper_than_the_notice():
    assert shrinking_wins_below(4, notice=9.0, restart=1.0, again=1.0) == 0


def test_what_never_goes_through_takes_for_ever_and_nonsense_is_refused():
    assert expected(1.0, 1e6, 1.0, 0.0, 1.0) == math.inf
    for wrong in (
        lambda: expected(1.0, 0.0, 1.0, 0.0, 1.0),
        lambda: expected(1.0, 1.0, -1.0, 0.0, 1.0),
        lambda: young(-1.0, 1.0),
    ):
        with pytest.raises(ValueError, match=r"every|save"):
            wrong()
