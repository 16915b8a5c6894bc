"""Each plain server trains as its product does when gradients arrive in the same order."""

from functools import cache

import numpy as np
import pytest
from comparing import assert_close
from orders import AsTheyCome, AtRandomTimes, Bowl, InTurn, OneLate, in_order

from ddl_teach import simulate
from ddl_teach.plain import (
    asynchronous_server,
    backup_workers,
    elastic_averaging,
    parameter_server,
    stale_synchronous,
)
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.backup_workers import BackupWorkers
from ddl_teach.training.consistency.elastic import Elastic
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.paces import OneSlow
from ddl_teach.training.trainer import train

STEPS, RATE, SPRING = 7, 0.2, 0.9
START = np.ones(3)

from_two_ranks = pytest.mark.parametrize(
    "ranks", [2, 3, 4, 5, 8], ids="{} ranks".format, indirect=True
)

# By name: the plain training of a communicator, weights and a gradient, and the product's WHEN for
# so many workers.
WAYS = {
    "parameter_server": (
        lambda comm, *given: parameter_server.train(comm, *given, STEPS, RATE),
        lambda workers: Synchronous(),
    ),
    "asynchronous_server": (
        lambda comm, *given: asynchronous_server.train(comm, *given, STEPS, RATE),
        lambda workers: Asynchronous(),
    ),
    "stale_synchronous, bound 1": (
        lambda comm, *given: stale_synchronous.train(comm, *given, STEPS, RATE, 1),
        lambda workers: StaleSynchronous(1),
    ),
    "stale_synchronous, bound 3": (
        lambda comm, *given: stale_synchronous.train(comm, *given, STEPS, RATE, 3),
        lambda workers: StaleSynchronous(3),
    ),
    "backup_workers": (
        lambda comm, *given: backup_workers.train(
            comm, *given, STEPS, RATE, min(1, comm.size - 2)
        ),
        lambda workers: BackupWorkers(min(1, workers - 1)),
    ),
    "elastic_averaging, period 1": (
        lambda comm, *given: elastic_averaging.train(
            comm, *given, STEPS, RATE, 1, SPRING / (comm.size - 1)
        ),
        lambda workers: Elastic(1, SPRING),
    ),
    "elastic_averaging, period 3": (
        lambda comm, *given: elastic_averaging.train(
            comm, *given, STEPS, RATE, 3, SPRING / (comm.size - 1)
        ),
        lambda workers: Elastic(3, SPRING),
    ),
}
ORDERS = dict.fromkeys(WAYS, InTurn) | {
    "parameter_server": AsTheyCome,
    "backup_workers": OneLate,
}


def plainly(comm, name, order):
    weights = START.copy()
    plain, _ = WAYS[name]
    seen, _ = in_order(comm, order, 1, lambda task: plain(comm, weights, task.slope))
    return seen, weights


def by_the_product(comm, name, order):
    when = WAYS[name][1](comm.size - 1)

    def training(task):
        return train(comm, task, when, Server(), Dense(), SGD(RATE), STEPS).weights

    return in_order(comm, order, 1, training)


@cache
def product(name, order, ranks):
    return simulate(by_the_product, ranks, name=name, order=order).results


def compare(results, name, order, ranks):
    """Every worker has computed the same gradients at the same weights, in the same steps."""
    expected = product(name, order, ranks)
    for (seen, _), (expected_seen, _) in zip(results, expected, strict=True):
        assert_close(seen, expected_seen)
    # The last worker to be answered has the final weights; of the springs, the final centre.
    assert any(np.allclose(results[0][1], own, rtol=1e-12, atol=1e-14) for _, own in expected[1:])
    if not name.startswith("elastic"):
        for (_, weights), (_, own) in zip(results[1:], expected[1:], strict=True):
            assert_close(weights, own)


@from_two_ranks
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.sampled(4)
def test_in_a_prescribed_order_it_trains_as_its_product(run, ranks, name):
    order = ORDERS[name]
    compare(run(plainly, name=name, order=order).results, name, order, ranks)


@from_two_ranks
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.sampled(3)
def test_whatever_the_gradients_take_it_trains_as_its_product(ranks, name):
    results = simulate(plainly, ranks, name=name, order=AtRandomTimes).results
    compare(results, name, AtRandomTimes, ranks)


# -- laws that hold in any order ------------------------------------------------------------


def descend(comm, name, slope):
    """The final weights where all gradients are `slope`; ranks begin at 1, 2, 3, ..."""
    weights = START * (1 + comm.rank)
    WAYS[name][0](comm, weights, lambda weights, worker, workers, step: np.full(3, slope))
    return weights


@from_two_ranks
@pytest.mark.parametrize(
    "name", ["asynchronous_server", "stale_synchronous, bound 1", "stale_synchronous, bound 3"]
)
@pytest.mark.sampled(3)
def test_every_gradient_of_every_worker_is_a_step(run, ranks, name):
    weights = run(descend, name=name, slope=2.0).results[0]
    assert_close(weights, START - RATE * 2.0 * STEPS * (ranks - 1))


@from_two_ranks
def test_with_backup_workers_a_step_is_one_mean(run, ranks):
    for weights in run(descend, name="backup_workers", slope=2.0).results:
        assert_close(weights, START - RATE * 2.0 * STEPS)


@from_two_ranks
@pytest.mark.parametrize("period", [1, 3])
def test_springs_keep_the_sum_of_the_centre_and_all_workers(run, ranks, period):
    results = run(descend, name=f"elastic_averaging, period {period}", slope=0.0).results
    assert_close(sum(results), START * ranks * (ranks + 1) / 2)
    assert np.ptp([weights[0] for weights in results]) < ranks - 1  # they have come nearer


def trained(comm, train, settings):
    weights = START.copy()
    task = Bowl(lambda step: None)
    train(comm, weights, task.slope, STEPS, *settings)
    return weights


@from_two_ranks
def test_with_bound_0_it_is_synchronous(run, ranks):
    synchronous = run(trained, train=parameter_server.train, settings=(RATE,))
    stale = run(trained, train=stale_synchronous.train, settings=(RATE / (ranks - 1), 0))
    assert_close(stale.results, synchronous.results)


def steps_of_all(comm, bound):
    """When each worker began and ended each of its gradients."""
    pace = OneSlow(1.0)
    times = []

    def gradient(weights, worker, workers, step):
        begun = comm.now()
        comm.work(seconds=pace(worker, step))
        times.append((begun, comm.now()))
        return weights

    stale_synchronous.train(comm, START.copy(), gradient, 20, 0.01, bound)
    return np.array(times)


def lead(ranks, bound):
    """How many steps the fastest worker was ever ahead of the slowest."""
    times = simulate(steps_of_all, ranks, bound=bound).results[1:]
    return max(
        step - int((other[:, 1] <= begun).sum())
        for own in times
        for step, begun in enumerate(own[:, 0])
        for other in times
    )


@pytest.mark.parametrize("ranks", [3, 4, 5, 8])
@pytest.mark.parametrize("bound", [0, 1, 2, 4])
def test_no_worker_is_further_ahead_than_the_bound(ranks, bound):
    assert lead(ranks, bound) == bound
    assert lead(ranks, 100) > bound  # without it they would be
