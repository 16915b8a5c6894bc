"""K-FAC and consensus ADMM against derivations that share no line with them."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from ddl_teach import simulate
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.consensus_admm import ConsensusADMM
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.consistency.synchronous_kfac import SynchronousKFAC
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.optimizers import admm, kfac
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.tasks.task import Factors, factors
from ddl_teach.training.trainer import train

SAMPLES = 120  # divided by 1, 2, 3, 4, 5 and 8


def test_a_step_is_that_of_the_kronecker_product():
    generator = np.random.default_rng(0)
    inputs, drawn, true = (generator.standard_normal((50, n)) for n in (4, 3, 3))
    layer = factors(inputs * [1, 5, 20, 0.1], drawn * [1, 0.1, 7], true)
    damping = 0.3
    share = np.sqrt(np.trace(layer.inputs) / 4 / (np.trace(layer.derivatives) / 3))
    fisher = np.kron(  # of vec(G), row by row
        layer.derivatives + np.sqrt(damping) / share * np.eye(3),
        layer.inputs + np.sqrt(damping) * share * np.eye(4),
    )
    right = np.linalg.solve(fisher, layer.gradient.ravel()).reshape(3, 4)
    np.testing.assert_allclose(kfac.step(layer, damping), right, rtol=1e-9)
    sure = Factors(layer.inputs, np.zeros((3, 3)), layer.gradient)
    assert np.isfinite(kfac.step(sure, damping)).all()


def test_the_factors_are_the_fisher_matrix_where_inputs_and_derivatives_are_independent():
    """For softmax with equal scores the derivatives know nothing of the inputs."""
    inputs = np.random.default_rng(1).standard_normal((20, 3))
    classes = 4
    every = np.full((classes, classes), 1 / classes) - np.eye(classes)  # softmax - answer
    fisher = np.mean(
        [np.outer(v, v) for a in inputs for d in every for v in [np.outer(d, a).ravel()]], axis=0
    )
    pairs = [(a, d) for a in inputs for d in every]
    layer = factors(*(np.array(part) for part in (
        [a for a, _ in pairs], [d for _, d in pairs], [d for _, d in pairs]
    )))  # fmt: skip
    np.testing.assert_allclose(np.kron(layer.derivatives, layer.inputs), fisher, atol=1e-12)


def least_squares(comm, inputs, answers):
    """One step of rate 1 from zeros, each rank with its part of the samples."""
    own = slice(comm.rank * SAMPLES // comm.size, (comm.rank + 1) * SAMPLES // comm.size)
    a, y = inputs[own], answers[own]
    # Of half the squared error, answers drawn by the model differ by unit normal numbers.
    drawn = np.sqrt(len(y)) * np.linalg.qr(np.random.default_rng(2).normal(size=y.shape))[0]
    layers = [factors(a, drawn, -y), factors(a, drawn, -2 * y)]
    return [-towards for towards in kfac.distributed(comm, layers, damping=1e-24)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_on_least_squares_one_step_is_all_it_takes_on_any_number_of_ranks(ranks):
    generator = np.random.default_rng(3)
    inputs = generator.standard_normal((SAMPLES, 6)) * np.logspace(-2, 2, 6)
    answers = generator.standard_normal((SAMPLES, 3))
    best = np.linalg.lstsq(inputs, answers, rcond=None)[0].T
    run = simulate(least_squares, ranks, inputs=inputs, answers=answers)
    for first, second in run.results:
        np.testing.assert_allclose(first, best, rtol=1e-4, atol=1e-9)
        np.testing.assert_allclose(second, 2 * first, rtol=1e-9)
    assert all(np.array_equal(run.results[0], other) for other in run.results)


def everybody(comm, start):
    return AllReduce().open(comm, start, Dense(), Service())


def quadratic(comm, parts, penalty, rounds, shared=lambda centre, penalty: centre):
    inputs, answers = parts[comm.rank]

    def local(centre, penalty):
        normal = inputs.T @ inputs + penalty * np.eye(inputs.shape[1])
        return np.linalg.solve(normal, inputs.T @ answers + penalty * centre)

    start = np.ones(inputs.shape[1])
    found = admm.consensus(
        everybody(comm, start), local, start, penalty=penalty, rounds=rounds, shared=shared
    )
    assert (start == 1).all()
    return found


def parts_of(ranks):
    generator = np.random.default_rng(4)
    inputs, answers = generator.standard_normal((80, 5)), generator.standard_normal(80)
    cuts = np.linspace(0, 80, ranks + 1).astype(int)[1:-1]
    return inputs, answers, list(zip(np.split(inputs, cuts), np.split(answers, cuts), strict=True))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(2)
def test_ranks_agree_on_the_minimum_of_the_sum_and_prices_are_gradients(ranks):
    inputs, answers, parts = parts_of(ranks)
    run = simulate(quadratic, ranks, parts=parts, penalty=10.0, rounds=100, trace=False)
    best = np.linalg.lstsq(inputs, answers, rcond=None)[0]
    for found, (own, y) in zip(run.results, parts, strict=True):
        np.testing.assert_allclose(found.consensus, best, atol=1e-8)
        np.testing.assert_allclose(found.own, best, atol=1e-8)
        np.testing.assert_allclose(10.0 * found.prices, -own.T @ (own @ best - y), atol=1e-6)
        assert found.apart[-1] < 1e-8
        assert found.moved[-1] < 1e-8
    np.testing.assert_allclose(sum(found.prices for found in run.results), 0, atol=1e-9)


def test_the_error_shrinks_as_its_recursion_says():
    """Two ranks, f_r(x) = h/2 (x - c_r)^2: the mean's error shrinks by rho / (h + rho) a round."""
    h, rho, rounds = 3.0, 2.0, 12

    def rank(comm):
        c = (-1.0, 4.0)[comm.rank]
        local = lambda centre, penalty: (h * c + penalty * centre) / (h + penalty)  # noqa: E731
        handle = everybody(comm, np.zeros(1))
        return admm.consensus(handle, local, np.array([10.0]), penalty=rho, rounds=rounds)

    found, _ = simulate(rank, 2).results
    error = (10.0 - 1.5) * (rho / (h + rho)) ** np.arange(rounds + 1)
    np.testing.assert_allclose(found.moved, -np.diff(error), rtol=1e-9)
    np.testing.assert_allclose(found.consensus, 1.5 + error[-1], rtol=1e-12)


def test_what_is_shared_may_be_made_simple_the_lasso_over_five_ranks():
    inputs, answers, parts = parts_of(5)
    strength = 12.0

    def soft(centre, penalty):
        return np.sign(centre) * np.maximum(np.abs(centre) - strength / penalty, 0)

    run = simulate(quadratic, 5, parts=parts, penalty=5.0, rounds=150, shared=soft, trace=False)
    best = Lasso(alpha=strength / 80, fit_intercept=False, tol=1e-12).fit(inputs, answers).coef_
    assert 0 < np.count_nonzero(best) < 5
    np.testing.assert_allclose(run.results[0].consensus, best, atol=1e-7)
    with pytest.raises(Exception, match="penalty must be above zero"):
        simulate(quadratic, 2, parts=parts, penalty=0.0, rounds=1)


@pytest.mark.parametrize("distribution", [AllReduce("tree"), Server()], ids=str)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_in_the_trainer_a_step_is_that_of_the_shared_factors(ranks, distribution):
    """Every worker inverts all layers there; here each rank inverts one, and all ways agree."""
    task, damping, rate = Digits(batch=12, hidden=5, dtype="float64"), 0.2, 0.7

    def by_hand(comm):
        weights = task.initial()
        for step in range(3):
            _, layers = task.curvature(weights, comm.rank, comm.size, step)
            _, gradient = task.gradient(weights, comm.rank, comm.size, step)
            slopes = np.concatenate([layer.gradient.T.ravel() for layer in layers])
            np.testing.assert_allclose(slopes, gradient, atol=1e-12)
            steps = kfac.distributed(comm, layers, damping)
            weights -= rate * np.concatenate([towards.T.ravel() for towards in steps])
        return weights

    wanted = simulate(by_hand, ranks).results[0]
    given = {
        "consistency": SynchronousKFAC(damping),
        "distribution": distribution,
        "update": SGD(rate),
        "steps": 3,
    }
    run = simulate(train, ranks + (distribution == Server()), task=task, **given)
    for result in run.results[-ranks:]:
        np.testing.assert_allclose(result.weights, wanted, rtol=1e-9, atol=1e-12)


def test_steps_of_single_precision_travel_as_such():
    def steps(comm):
        task = Digits(batch=12, hidden=5)
        layers = task.curvature(task.initial(), comm.rank, comm.size, 1)[1]
        return [towards.dtype for towards in kfac.distributed(comm, layers, 0.1)]

    assert simulate(steps, 2).results == [[np.dtype("float32")] * 2] * 2


def test_curvature_saves_steps_and_is_asked_of_tasks_that_have_it():
    task = Digits(batch=32)
    settings = {"task": task, "steps": 40, "trace": False}
    curved = simulate(train, 2, consistency=SynchronousKFAC(), update=SGD(0.2), **settings)
    plain = simulate(train, 2, consistency=Synchronous(), update=SGD(0.2), **settings)
    assert task.loss(curved.results[0].weights) < 0.8 * task.loss(plain.results[0].weights)
    with pytest.raises(Exception, match="gives no factors"):
        simulate(train, 2, task=Quadratic(), consistency=SynchronousKFAC(), steps=1)
    with pytest.raises(ValueError, match="above zero"):
        SynchronousKFAC(damping=0)


@pytest.mark.parametrize("distribution", [AllReduce(), Server()], ids=["AllReduce", "Server"])
def test_in_the_trainer_few_steps_of_a_rule_take_the_place_of_the_local_minimum(distribution):
    task, consistency = Quadratic((1.0, 0.4), apart=2.0), ConsensusADMM(period=3, penalty=0.7)
    settings = {"task": task, "distribution": distribution, "update": SGD(0.3)}
    run = simulate(train, 5, consistency=consistency, steps=240, **settings)
    workers = [result for result in run.results if result.worker is not None]
    for result in workers:
        np.testing.assert_allclose(result.weights, 0, atol=1e-8)  # the mean of all minima
        # What its own data want is what the price holds against: it stays where all agree.
        slope, _ = task.gradient(result.weights, result.worker, len(workers), 0)
        assert result.losses[-1] == pytest.approx(slope, rel=1e-6)
    odd = simulate(train, 3, consistency=consistency, steps=7, **settings).results[-1]
    assert len(odd.losses) == 7, "the last round is a short one"
    with pytest.raises(ValueError, match="period must be at least 1, not 0"):
        ConsensusADMM(period=0)


def test_where_workers_see_a_few_digits_only_prices_help():
    task = Digits(skewed=True)
    settings = {"task": task, "update": SGD(0.1), "steps": 150, "trace": False}
    ended = [
        task.loss(simulate(train, 5, consistency=consistency, **settings).results[0].weights)
        for consistency in (ConsensusADMM(8), LocalSGD(8))
    ]
    assert ended[0] < 0.8 * ended[1]


def both(comm, inputs, answers, parts):
    return least_squares(comm, inputs, answers), quadratic(comm, parts, 10.0, 5).consensus


def test_real_ranks_come_to_the_same_as_simulated_ones(real):
    inputs, answers, parts = parts_of(3)
    given = {"inputs": np.resize(inputs, (SAMPLES, 5)), "parts": parts}
    given["answers"] = np.resize(answers, (SAMPLES, 2))
    pairs = zip(real(both, 3, **given).results, simulate(both, 3, **given).results, strict=True)
    for (steps, consensus), (same_steps, same) in pairs:
        assert np.array_equal(steps, same_steps)
        assert np.array_equal(consensus, same)
