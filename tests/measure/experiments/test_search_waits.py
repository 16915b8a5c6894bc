"""What waiting costs: searches against the formula, and simulated ones against real ranks."""

import pytest

from ddl_measure.experiments.searches import Pace, asynchronous, compared, halving, waits
from ddl_teach import simulate
from ddl_teach.search.decider import Job
from ddl_teach.theory.stragglers import waiting


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(3)
def test_the_synchronous_search_waits_as_long_as_the_formula_says(workers):
    schedule = [(3 * workers, 1.0), (workers, 3.0)]
    equal = waits(simulate, workers, halving, Pace(differ=False))
    assert equal == pytest.approx(waiting(schedule, workers, differ=False), rel=1e-4)
    seeds = 24
    differ = waits(simulate, workers, halving, Pace(differ=True), seeds)
    # One search's time spreads by half of its mean or less.
    assert differ == pytest.approx(waiting(schedule, workers), rel=4 * 0.5 / seeds**0.5)


def test_the_asynchronous_one_loses_with_equal_times_and_wins_with_others():
    equal, differ = Pace(differ=False), Pace(differ=True)
    assert waits(simulate, 16, asynchronous, equal) > waits(simulate, 16, halving, equal)
    assert waits(simulate, 64, asynchronous, differ) < 0.6 * waits(simulate, 64, halving, differ)


def test_a_job_takes_as_long_wherever_it_runs():
    pace = Pace(differ=True, second=2.0)
    times = {pace(rank, Job(5, {}, 1, 3, 7)) for rank in range(4)}
    assert len(times) == 1
    assert times != {pace(0, Job(5, {}, 0, 3, 7)), pace(0, Job(6, {}, 1, 3, 7))}
    assert Pace(differ=False, second=2.0)(0, Job(5, {}, 1, 3, 7)) == 6.0


def test_on_real_ranks_as_many_trials_are_trained_to_the_end(real):
    found = compared(real, Pace(False, 1e-4), [1, 2])
    assert [*found] == ["halving, times equal", "asynchronous, times equal"]
    for counts, times in found.values():
        assert counts == [1, 2]
        assert min(times) >= 1  # who sleeps does not wake up early
