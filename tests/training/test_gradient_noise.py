"""Noise and signal measured by ranks are those of the task."""

import numpy as np
import pytest

from ddl_teach import simulate
from ddl_teach.training.consistency.gradient_noise import noise_and_signal
from ddl_teach.training.tasks.quadratic import Quadratic


def averages(comm, task, samples, steps):
    """Over so many steps at the same weights; ranks must agree to the last bit."""
    weights, pairs = task.initial(), []
    for step in range(steps):
        gradient = task.gradient(weights, comm.rank, comm.size, step)[1]
        kept = gradient.copy()
        pairs.append(noise_and_signal(comm, gradient, samples))
        assert np.array_equal(gradient, kept)
    return np.mean(pairs, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.sampled(6)
def test_they_are_those_of_the_task_on_any_number_of_ranks(ranks):
    samples, noise = 6, 1.5
    task = Quadratic((1.0, 2.0, 0.5), noise=noise / samples**0.5)
    run = simulate(averages, ranks, task=task, samples=samples, steps=2400 // ranks, trace=False)
    found, signal = run.results[0]
    np.testing.assert_allclose(found, 3 * noise**2, rtol=0.12)
    np.testing.assert_allclose(signal, 1 + 4 + 0.25, rtol=0.04)
    assert all(np.array_equal(run.results[0], other) for other in run.results)


def test_one_rank_alone_is_told_why_not():
    with pytest.raises(Exception, match="split its samples in two"):
        simulate(averages, 1, task=Quadratic(), samples=2, steps=1)
