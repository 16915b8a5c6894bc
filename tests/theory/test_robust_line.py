import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import LATENCIES, PER_BYTE

from ddl_teach.theory.robust_line import fit_line

SIZES = np.logspace(0, 8, 9).round()


def noisy(seed, sizes, start=1e-5, per_byte=1e-9, scatter=0.05, outliers=0.0):
    """Times as a stopwatch gives them: relative noise, and now and then far too late."""
    dice = np.random.default_rng(seed)
    times = (start + per_byte * sizes) * np.exp(dice.normal(0, scatter, len(sizes)))
    late = dice.random(len(sizes)) < outliers
    times[late] *= dice.uniform(2, 10, late.sum())
    return times


@given(LATENCIES, PER_BYTE)
def test_times_without_noise_give_the_line_itself(start, per_byte):
    knee = start / per_byte
    sizes = knee * np.logspace(-3, 3, 7)
    line = fit_line(sizes, start + per_byte * sizes, resamples=100)
    assert line.start == pytest.approx(start, rel=1e-9)
    assert line.per_byte == pytest.approx(per_byte, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("repetitions", "outliers", "least"), [(1, 0.0, 0.80), (5, 0.0, 0.88), (5, 0.1, 0.88)]
)
@pytest.mark.sampled(3)
def test_the_interval_holds_the_truth_as_often_as_stated(repetitions, outliers, least):
    sizes, trials = np.repeat(SIZES, repetitions), 150
    starts = slopes = 0
    for seed in range(trials):
        times = noisy(seed, sizes, outliers=outliers)
        line = fit_line(sizes, times, resamples=200, seed=seed)
        starts += line.start_interval[0] <= 1e-5 <= line.start_interval[1]
        slopes += line.per_byte_interval[0] <= 1e-9 <= line.per_byte_interval[1]
    # at 95 % an interval that always holds is as wrong as one that seldom does
    assert least <= starts / trials <= 0.995
    assert least <= slopes / trials <= 0.995


def test_more_confidence_is_a_wider_interval():
    times = noisy(1, np.repeat(SIZES, 5))
    widths = [
        np.ptp(fit_line(np.repeat(SIZES, 5), times, confidence=share).start_interval)
        for share in (0.5, 0.8, 0.95)
    ]
    assert widths == sorted(set(widths))


@pytest.mark.parametrize("late", [0, 22, 44])
def test_a_late_measurement_hardly_moves_the_line(late):
    sizes = np.repeat(SIZES, 5)
    times = noisy(2, sizes)
    before = fit_line(sizes, times, resamples=100)
    worse = times.copy()
    worse[late] *= 20
    after = fit_line(sizes, worse, resamples=100)
    assert after.start == pytest.approx(before.start, rel=0.03)
    assert after.per_byte == pytest.approx(before.per_byte, rel=0.03)
    least_squares = np.polyfit(sizes, worse, 1, w=1 / times)
    moved = [least_squares[1] / before.start, least_squares[0] / before.per_byte]
    assert max(moved) > 1.1  # so the test could tell


def test_small_messages_count_as_much_as_large_ones():
    """1 % of the largest time is a hundred latencies; the latency is found all the same."""
    sizes = np.repeat(SIZES, 20)
    times = noisy(3, sizes, scatter=0.01)
    assert fit_line(sizes, times, resamples=100).start == pytest.approx(1e-5, rel=0.01)
    unweighted = np.polyfit(sizes, times, 1)[1]
    assert abs(unweighted / 1e-5 - 1) > 0.1


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("start", "per_byte"), [(0.0, 1e-9), (1e-5, 0.0)])
def test_nothing_is_ever_negative(start, per_byte, seed):
    line = fit_line(SIZES, noisy(seed, SIZES, start, per_byte), resamples=200)
    assert 0 <= line.start_interval[0] <= line.start_interval[1]
    assert 0 <= line.per_byte_interval[0] <= line.per_byte_interval[1]
    assert line.start >= 0
    assert line.per_byte >= 0


def test_the_same_seed_gives_the_same_interval():
    times = noisy(4, SIZES)
    one, again, other = (fit_line(SIZES, times, seed=seed) for seed in (0, 0, 1))
    assert one == again
    assert one.start == other.start
    assert one.start_interval != other.start_interval


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_do_not_matter(time_unit, size_unit):
    times = noisy(5, SIZES)
    line = fit_line(SIZES, times, resamples=100)
    scaled = fit_line(SIZES * size_unit, times * time_unit, resamples=100)
    assert scaled.start == pytest.approx(line.start * time_unit, rel=1e-6)
    assert scaled.per_byte == pytest.approx(line.per_byte * time_unit / size_unit, rel=1e-6)
    assert scaled.start_interval == pytest.approx(
        tuple(end * time_unit for end in line.start_interval), rel=1e-4
    )


def test_messages_without_bytes_are_measurements_too():
    sizes = np.array([0.0] * 10 + [10.0, 1e4, 1e7])
    line = fit_line(sizes, 1e-5 + 1e-9 * sizes)
    assert line.start == pytest.approx(1e-5, rel=1e-9)
    assert line.per_byte == pytest.approx(1e-9, rel=1e-9)


GOOD = [1e-5, 1e-5, 1.1e-5, 2e-5]


@pytest.mark.parametrize(
    ("sizes", "times", "words"),
    [
        ([1, 10, 100, 1000], [*GOOD[:3], float("nan")], "measurement 3: the time is nan"),
        ([1, 10, 100, 1000], [*GOOD[:3], 0.0], "measurement 3: the time is 0.0.*positive"),
        ([1, 10, 100, 1000], [-1.0, *GOOD[:3]], "measurement 0: the time is -1.0"),
        ([1, -10, 100, 1000], GOOD, "measurement 1: the size is -10.0.*0 or more"),
        ([1, 10, float("inf"), 1000], GOOD, "measurement 2: the size is inf"),
        ([1, 1, 10, 100], GOOD, "at least 4 different sizes, got 3; measure from a few bytes"),
        ([], [], "at least 4 different sizes, got 0"),
        ([1, 10, 100], GOOD, "one time for each size"),
        ([[1, 10], [100, 1000]], [GOOD[:2], GOOD[2:]], "one time for each size"),
    ],
)
def test_what_cannot_be_fitted_is_named(sizes, times, words):
    with pytest.raises(ValueError, match=words):
        fit_line(sizes, times)


def test_an_impossible_wish_is_named():
    with pytest.raises(ValueError, match="confidence must be above zero and less than 1, not 95"):
        fit_line([1, 10, 100, 1000], GOOD, confidence=95)
    with pytest.raises(ValueError, match="resamples must be at least 100, not 10"):
        fit_line([1, 10, 100, 1000], GOOD, resamples=10)


def test_unless_told_it_resamples_a_thousand_times_from_seed_0():
    sizes = [8.0, 64.0, 512.0, 4096.0, 32768.0] * 3
    times = [1e-6 + 1e-9 * size * (1 + 0.01 * (k % 4)) for k, size in enumerate(sizes)]
    assert fit_line(sizes, times) == fit_line(sizes, times, resamples=1000, seed=0)
    assert fit_line(sizes, times) != fit_line(sizes, times, seed=1)
