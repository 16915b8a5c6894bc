"""Large batches: the formulas' identities, and noise that is really drawn."""

import numpy as np
import pytest

from ddl_teach.theory.large_batches import (
    StepsToTarget,
    best_rate,
    fit_steps,
    noise_and_signal,
)
from ddl_teach.training.tasks.quadratic import Quadratic

BATCHES = 2.0 ** np.arange(0, 14)


def test_steps_and_samples_lie_on_the_hyperbola_and_never_below_their_least():
    told = StepsToTarget(fewest=40, noise_scale=200)
    steps, samples = told.steps(BATCHES), told.samples(BATCHES)
    # (steps / fewest - 1) (samples / least - 1) = 1, McCandlish et al. 2018
    np.testing.assert_allclose((steps / 40 - 1) * (samples / 8000 - 1), 1)
    assert (np.diff(steps) < 0).all()
    assert (np.diff(samples) > 0).all()
    assert (told.steps(200), told.samples(200)) == (80, 16_000)  # the knee: both twice
    far = told.steps(1e12), told.samples(1e-9)
    np.testing.assert_allclose(far, (40, 8000))


def test_no_number_of_ranks_reaches_the_wall_while_throughput_goes_on():
    told, ranks = StepsToTarget(40, 200), np.array([1, 10, 100, 10_000, 10**7])
    speed_ups = told.speed_up(ranks, samples=8)
    assert speed_ups[0] == 1
    assert (np.diff(speed_ups) > 0).all()
    assert (speed_ups < told.wall(8)).all()
    assert told.wall(8) == 26
    np.testing.assert_allclose(speed_ups[-1], 26, rtol=1e-3)
    # Ranks that share a fixed batch of one sample each: hardly any loss as long as P b << N.
    np.testing.assert_allclose(StepsToTarget(40, 1e6).speed_up(100, 1), 100, rtol=1e-3)
    np.testing.assert_allclose(told.speed_up(100, 8, efficiency=0.5), speed_ups[2] / 2)


@pytest.mark.parametrize("told", [StepsToTarget(40, 200), StepsToTarget(3, 0.5)], ids=str)
def test_a_fit_finds_the_two_numbers_again(told):
    found = fit_steps(BATCHES, told.steps(BATCHES))
    np.testing.assert_allclose(found.fewest, told.fewest)
    np.testing.assert_allclose(found.noise_scale, told.noise_scale)


def test_a_fit_finds_the_two_numbers_through_scattered_steps():
    scatter = np.random.default_rng(0).uniform(0.9, 1.1, len(BATCHES))
    found = fit_steps(BATCHES, scatter * StepsToTarget(40, 200).steps(BATCHES))
    np.testing.assert_allclose((found.fewest, found.noise_scale), (40, 200), rtol=0.1)
    assert fit_steps([1, 2, 4], [10, 11, 12]).noise_scale == 0


@pytest.mark.parametrize(
    ("batches", "steps", "words"),
    [
        ([8], [100], "two different batches"),
        ([8, 8], [100, 90], "two different batches"),
        ([8, 16], [100], "one count of steps for each"),
        ([8, 16], [100, np.inf], "target was not reached"),
        ([8, 16, 32], [100, 50, 24], "no limit yet"),
    ],
)
def test_what_no_two_numbers_explain_is_refused(batches, steps, words):
    with pytest.raises(ValueError, match=words):
        fit_steps(batches, steps)


def test_the_best_rate_grows_with_the_batch_first_and_not_at_all_later():
    greatest, noise_scale = 0.7, 500
    small, large = 10.0, 1e6
    np.testing.assert_allclose(
        best_rate(2 * small, greatest, noise_scale) / best_rate(small, greatest, noise_scale),
        2, rtol=0.03,
    )  # fmt: skip
    np.testing.assert_allclose(best_rate(large, greatest, noise_scale), greatest, rtol=1e-3)


@pytest.mark.parametrize("batch", [1, 5, 100])
def test_the_best_rate_is_the_best_of_one_step_down_a_bowl(batch):
    h, w, noise = 1.3, 2.0, 4.0
    rates = np.linspace(1e-3, 1.5, 20_000)
    loss_after = (1 - rates * h) ** 2 * w**2 + rates**2 * noise**2 / batch
    said = best_rate(batch, 1 / h, noise**2 / (h * w) ** 2)
    np.testing.assert_allclose(rates[loss_after.argmin()], said, atol=2e-4)


def test_noise_and_signal_come_out_without_bias():
    generator = np.random.default_rng(1)
    gradient = np.array([3.0, -1.0, 0.0, 2.0])
    spread = np.array([1.0, 5.0, 2.0, 0.5])
    samples, ranks, steps = 4, 5, 4000
    drawn = generator.normal(gradient, spread, (steps, ranks, samples, 4)).mean(axis=2)
    small = (drawn**2).sum(axis=2).mean(axis=1)
    large = (drawn.mean(axis=1) ** 2).sum(axis=1)
    pairs = [noise_and_signal(s, samples, b, samples * ranks)
             for s, b in zip(small, large, strict=True)]  # fmt: skip
    noise, signal = np.mean(pairs, axis=0)
    np.testing.assert_allclose(signal, (gradient**2).sum(), rtol=0.02)
    np.testing.assert_allclose(noise, (spread**2).sum(), rtol=0.05)
    assert large.mean() > 1.05 * signal  # what is plainly measured is too much by tr(S)/B
    with pytest.raises(ValueError, match="split its samples in two"):
        noise_and_signal(1.0, 8, 1.0, 8)


def noisy_bowl(eigenvalues, noise, batch, rate, steps):
    """The expected loss of 1/2 sum of h w^2 before each step and after the last, from w = 1.

    Gradients h w carry noise of variance noise^2 / batch in each direction, so that

        E w^2  becomes  (1 - rate h)^2 E w^2 + rate^2 noise^2 / batch

    exactly. Zhang et al., "Which algorithmic choices matter at which batch sizes? Insights from a
    noisy quadratic model", NeurIPS 2019. Two things are in it: how fast the mean falls, which no
    batch changes, and the floor of h w^2, rate noise^2 / batch / (2 - rate h), which it lowers.
    """
    h = np.asarray(eigenvalues, float)
    squares = np.ones_like(h)
    losses = [float(h @ squares) / 2]
    for _ in range(steps):
        squares = (1 - rate * h) ** 2 * squares + rate**2 * noise**2 / batch
        losses.append(float(h @ squares) / 2)
    return np.array(losses)


@pytest.mark.parametrize("batch", [1, 16])
def test_the_noisy_bowl_falls_on_average_as_its_recursion_says(batch):
    eigenvalues, noise, rate, steps, runs = (1.0, 0.2), 1.5, 0.4, 12, 600
    told = noisy_bowl(eigenvalues, noise, batch, rate, steps)
    losses = np.zeros((runs, steps + 1))
    for run in range(runs):
        task = Quadratic(eigenvalues, noise=noise / batch**0.5, seed=run)
        weights = task.initial()
        for step in range(steps):
            losses[run, step] = task.loss(weights)
            weights -= rate * task.gradient(weights, 0, 1, step)[1]
        losses[run, steps] = task.loss(weights)
    error = losses.std(axis=0) / runs**0.5
    assert (np.abs(losses.mean(axis=0) - told) <= 4.5 * error + 1e-12).all()
    floor = rate * noise**2 / batch / (2 - rate * np.array(eigenvalues))
    np.testing.assert_allclose(
        noisy_bowl(eigenvalues, noise, batch, rate, 1000)[-1], floor.sum() / 2, rtol=1e-6
    )
