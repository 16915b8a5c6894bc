"""The stable step size by formula, by roots and by watching a weight; and what waiting costs."""

import numpy as np
import pytest

from ddl_teach.theory import staleness, stragglers

DELAYS = (0, 1, 2, 3, 5, 8, 21)


def shares(delay):
    return [0.0] * delay + [1.0]


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("curvature", [1.0, 12.5])
def test_the_formula_the_roots_and_a_weight_agree(delay, curvature):
    rate = staleness.stable_rate(delay, curvature)
    assert staleness.growth(rate * curvature, shares(delay)) == pytest.approx(1, abs=1e-9)
    assert staleness.stable_step(shares(delay)) == pytest.approx(rate * curvature)
    ends = []
    for factor in (0.97, 1.0, 1.03):
        walk = np.abs(
            staleness.delayed_descent(factor * rate, curvature, delay, 150 * (delay + 1))
        )
        swing = 2 * (2 * delay + 1)
        ends.append(walk[-swing:].max() / walk[swing : 2 * swing].max())
    assert ends[0] < 0.1
    assert ends[1] == pytest.approx(1, rel=0.1)
    assert ends[2] > 10


@pytest.mark.parametrize("delay", DELAYS)
def test_at_the_limit_the_weight_swings_with_the_period(delay):
    period = 2 * (2 * delay + 1)
    walk = staleness.delayed_descent(staleness.stable_rate(delay), 1.0, delay, 60 * period)
    late = walk[20 * period :]
    assert late[period:] == pytest.approx(late[:-period], abs=0.02)
    assert late[period // 2 : -period // 2] == pytest.approx(-late[:-period], abs=0.02)


def test_mixed_ages_lie_between_the_fresh_and_the_oldest():
    """Where ages lie close together, the mean age says it nearly."""
    mixed = staleness.stable_step([0, 0, 0.25, 0.5, 0.25])
    assert staleness.stable_rate(4) < mixed < staleness.stable_rate(2)
    assert mixed == pytest.approx(staleness.stable_rate(3), rel=0.1)
    # Ages scattered over a wide range are less in step with each other, and allow more.
    assert staleness.stable_step([0.5, 0, 0, 0, 0, 0, 0.5]) > staleness.stable_rate(3)


def test_large_staleness_costs_its_reciprocal():
    assert staleness.stable_rate(1000) == pytest.approx(np.pi / 2001, rel=1e-3)


@pytest.mark.parametrize("workers", [1, 2, 7, 256])
@pytest.mark.parametrize("backups", [0, 1, 8])
def test_the_slowest_of_those_waited_for(workers, backups):
    times = np.random.default_rng(1).exponential(2.0, (20_000, workers + backups))
    waited = np.sort(times, axis=1)[:, workers - 1].mean()
    assert stragglers.slowest(workers, 2.0, backups) == pytest.approx(waited, rel=0.03)


@pytest.mark.parametrize("bound", [0, 1, 4, 30])
@pytest.mark.parametrize("slow", [1.0, 1.25, 3.0, 10.0])
def test_a_bound_puts_off_what_a_persistent_straggler_costs(bound, slow):
    begins, now = [], 0.0
    for step in range(200):  # of a fast worker, 1 s each
        now = max(now, (step - bound) * slow)
        begins.append(now)
        now += 1.0
        assert stragglers.bounded_time(step + 1, bound, 1.0, slow) == pytest.approx(now)
    if slow > 1:
        many = 100_000
        pace = stragglers.bounded_time(many, bound, 1.0, slow) / many
        assert pace == pytest.approx(slow, rel=0.01)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: staleness.stable_rate(-1), "staleness must be at least 0"),
        (lambda: staleness.stable_rate(1.5), "staleness must be a whole number"),
        (lambda: staleness.stable_rate(1, 0.0), "curvature must be above zero"),
        (lambda: staleness.stable_rate(1, "flat"), "curvature must be a number"),
        (lambda: staleness.growth(0.1, [0.5, 0.2]), "add up to 1"),
        (lambda: staleness.delayed_descent(0.1, 1.0, 1, -1), "steps must be at least 0"),
        (lambda: stragglers.slowest(0), "workers must be at least 1"),
        (lambda: stragglers.slowest(2, -1.0), "mean must be"),
        (lambda: stragglers.bounded_time(5, -1, 1.0, 2.0), "bound must be at least"),
        (lambda: stragglers.bounded_time(5, 1, 3.0, 2.0), "must not be below"),
    ],
)
def test_what_cannot_be_is_refused_by_name(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()
