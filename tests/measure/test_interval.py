"""Intervals hold what they promise: by counting, and by experiments whose truth is known."""

import numpy as np
import pytest

from ddl_measure.interval import (
    FEWEST,
    coverage,
    interval,
    ratio_of_medians,
    ratio_of_turns,
    summarise,
)

EXPERIMENTS = 400
SHAPES = {
    "exponential": lambda random, size: random.exponential(size=size) / np.log(2),
    "normal": lambda random, size: random.normal(1, 0.1, size),
    "late now and then": lambda random, size: np.where(
        random.random(size) < 0.1, 10, random.normal(1, 0.05, size)
    ),
}
TRUE_MEDIAN = {"exponential": 1.0, "normal": 1.0, "late now and then": 1.00698}


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8])
def test_few_times_enclose_nothing_less_than_all(count):
    times = np.arange(count)[::-1]
    median, low, high = interval(times)
    assert low <= median == np.median(times) <= high
    if count <= 4:
        assert (low, high) == (0, count - 1)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.99])
def test_enough_times_hold_the_median_as_often_as_was_asked(share):
    counts = [*range(1, 200), 2500, 10_000]
    held = {count: coverage(count, share) for count in counts}
    # With so many the least and the most are enough.
    enough = next(count for count in counts if 1 - 2.0 ** (1 - count) >= share)
    assert all(held[count] >= share - 1e-9 for count in counts if count >= enough)
    assert all(held[count] <= share + 0.02 for count in counts if count >= 2500)
    assert [held[count] for count in (1, 2)] == pytest.approx([0, 0.5])
    assert share != 0.95 or enough == FEWEST


@pytest.mark.parametrize("shape", SHAPES)
def test_simulated_experiments_hold_the_truth_in_95_of_100(shape):
    random, draw, truth = np.random.default_rng(3), SHAPES[shape], TRUE_MEDIAN[shape]
    for count in (6, 21):
        ours, theirs = (draw(random, (EXPERIMENTS, count)) for _ in range(2))
        held = {"median": 0, "turns": 0, "medians": 0}
        # Every turn has a disturbance of its own, which both contestants feel.
        turn = random.lognormal(0, 1, (EXPERIMENTS, count))
        for one, other, disturbed in zip(ours, theirs, turn, strict=True):
            found = {
                "median": (truth, interval(one)),
                "turns": (3, ratio_of_turns(3 * one * disturbed, other * disturbed)),
                "medians": (3, ratio_of_medians(3 * one, other)),
            }
            for name, (value, (_, low, high)) in found.items():
                held[name] += low <= value <= high
        # 0.95, less three standard deviations of such a count.
        assert min(held.values()) >= (0.95 - 3 * 0.0109) * EXPERIMENTS, (count, held)


def test_a_ratio_of_turns_is_surer_where_the_machine_is_not():
    random = np.random.default_rng(0)
    one, other = random.normal(1, 0.01, (2, 21))
    disturbed = random.lognormal(0, 1, 21)
    _, low, high = ratio_of_turns(2 * one * disturbed, other * disturbed)
    _, least, most = ratio_of_medians(2 * one * disturbed, other * disturbed)
    assert 1.9 < low < 2 < high < 2.1
    assert most - least > 10 * (high - low)


def test_ratios_of_few_or_constant_times_are_no_surer_than_they_can_be():
    assert ratio_of_medians([2, 4], [1, 2]) == (2, 1, 4)  # from least to most
    assert ratio_of_medians([6.0] * 9, [2.0] * 7) == pytest.approx((3, 3, 3))
    middle, low, high = ratio_of_medians([1, 2, 3, 4, 5, 6], [1, 1, 1, 1, 1, 1])
    assert low < middle == 3.5 < high


def test_what_is_no_measurement_is_refused():
    with pytest.raises(ValueError, match="no times were given"):
        interval([])
    for wrong in (3.0, [[1.0, 2.0]], [1.0, np.nan]):
        with pytest.raises(ValueError, match="give one row of times"):
            interval(wrong)
    with pytest.raises(ValueError, match="confidence=95 is a share"):
        interval([1, 2, 3], confidence=95)
    with pytest.raises(ValueError, match="repeat the work in a row"):
        ratio_of_medians([1, 0], [1, 2])
    with pytest.raises(ValueError, match="3 times and 2 of the baseline cannot be paired"):
        ratio_of_turns([1, 2, 3], [1, 2])


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
