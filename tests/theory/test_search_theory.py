"""Halving on workers: the formula against queues that are played through."""

import heapq

import numpy as np
import pytest

from ddl_teach.theory.stragglers import rung_seconds, waiting


def played(jobs, workers, random):
    """Seconds until the last of so many exponential jobs is done, averaged over many queues."""
    ends = []
    for _ in range(3000):
        times = random.exponential(2.0, jobs).tolist()
        free = [0.0] * workers
        for time in times:
            heapq.heapreplace(free, free[0] + time)
        ends.append(max(free))
    return np.mean(ends)


@pytest.mark.parametrize(("jobs", "workers"), [(1, 1), (7, 1), (5, 5), (12, 4), (30, 7), (3, 8)])
def test_a_rung_takes_as_long_as_its_queue_played_through(jobs, workers):
    random = np.random.default_rng(jobs * 100 + workers)
    assert played(jobs, workers, random) == pytest.approx(
        rung_seconds(jobs, workers, 2.0), rel=0.05
    )


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8, 1000])
def test_equal_times_leave_nobody_waiting_where_workers_divide_every_rung(workers):
    schedule = [(9 * workers, 1.0), (3 * workers, 3.0), (workers, 9.0)]
    assert waiting(schedule, workers, differ=False) == 1
    assert waiting(schedule, workers) >= 1


def test_three_workers_wait_for_the_last_rungs():
    assert waiting([(9, 1.0), (3, 3.0), (1, 9.0)], 3, differ=False) == pytest.approx(15 / 9)


def test_waiting_grows_with_every_worker_that_has_as_much_to_do():
    times = [waiting([(3 * w, 1.0), (w, 3.0)], w) for w in (1, 2, 3, 4, 5, 8, 100)]
    assert times == sorted(times)
    assert times[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "words"),
    [((0, 1), "jobs"), ((1, 0), "workers"), ((1, 1, -1.0), "mean"), ((1.5, 1), "jobs")],
)
def test_what_cannot_be_is_named(given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        rung_seconds(*given)
