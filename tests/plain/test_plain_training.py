"""Each plain training without a server gives what its product gives, and keeps its law."""

from functools import cache, partial

import numpy as np
import pytest
from comparing import assert_close
from orders import AsTheyCome, InTurn, in_order

from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.plain import diloco, gossip, hogwild, local_sgd, synchronous_sgd
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.diloco import DiLoCo
from ddl_teach.training.consistency.gossip import Gossip
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.neighbours import Neighbours
from ddl_teach.training.distribution.shared_vector import SharedVector
from ddl_teach.training.optimizers.adamw import AdamW
from ddl_teach.training.optimizers.nesterov import Nesterov
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.trainer import train

STEPS, RATE = 7, 0.2
START = np.ones(3)

# By name: the plain training with its settings, and the product's WHEN and path.
WAYS = {
    "synchronous_sgd": (synchronous_sgd.train, (), Synchronous(), AllReduce("ring")),
    "local_sgd, period 1": (local_sgd.train, (1,), LocalSGD(1), AllReduce("ring")),
    "local_sgd, period 3": (local_sgd.train, (3,), LocalSGD(3), AllReduce("ring")),
    "gossip": (gossip.train, (), Gossip(), Neighbours()),
    "diloco, period 3": (diloco.train, (3,), DiLoCo(3), AllReduce("ring")),
    "diloco, other rates": (
        diloco.train, (2, 0.4, 0.6), DiLoCo(2, Nesterov(0.4, 0.6)), AllReduce("ring"),
    ),
}  # fmt: skip


def plainly(comm, name):
    weights = START.copy()
    plain, settings, *_ = WAYS[name]

    def training(task):
        plain(comm, weights, task.slope, STEPS, RATE, *settings)

    return in_order(comm, AsTheyCome, 0, training)[0], weights


def by_the_product(comm, name):
    *_, when, path = WAYS[name]

    def training(task):
        rule = AdamW(RATE) if isinstance(when, DiLoCo) else SGD(RATE)
        return train(comm, task, when, path, Dense(), rule, STEPS).weights

    return in_order(comm, AsTheyCome, 0, training)


@cache
def product(name, ranks):
    return simulate(by_the_product, ranks, name=name).results


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.sampled(3)
def test_it_trains_as_its_product(run, ranks, name):
    results = run(plainly, name=name).results
    for (seen, weights), (expected_seen, expected) in zip(
        results, product(name, ranks), strict=True
    ):
        assert_close(seen, expected_seen)
        assert_close(weights, expected)


# -- laws -----------------------------------------------------------------------------------


def mixed(comm, steps):
    weights = np.full(2, 1.0 + comm.rank)
    gossip.train(comm, weights, lambda weights, *_: np.zeros(2), steps, RATE)
    return weights


@pytest.mark.sampled(3)
def test_gossip_keeps_the_mean_and_brings_ranks_together(run, ranks):
    once, often = (run(mixed, steps=steps).results for steps in (0, 200))
    assert_close(np.mean(once, axis=0), np.full(2, (1 + ranks) / 2))
    assert_close(often, np.full((ranks, 2), (1 + ranks) / 2))


def test_gossip_on_a_ring_hears_two_neighbours(ranks):
    once = simulate(mixed, ranks, steps=0).results
    for rank, weights in enumerate(once):
        near = {rank, (rank - 1) % ranks, (rank + 1) % ranks}
        assert_close(weights, np.full(2, 1 + np.mean([*near])))


# -- hogwild --------------------------------------------------------------------------------


@pytest.fixture(params=["simulated", "real"])
def on_one_node(request, ranks):
    """`on_one_node(program)` runs it on so many ranks that share memory."""
    if request.param == "simulated":
        return partial(simulate, ranks=ranks, network=TwoLevel(ranks))
    return partial(request.getfixturevalue("real"), ranks=ranks)


class Sparse:
    """Each gradient touches four of forty places; each worker's last one four places of its own.

    So the last gradients may come in any order. They must: a worker that has made its last step
    waits for all others, and could not pass the turn on.
    """

    def __init__(self, turn):
        self.turn, self.seen = turn, []

    def initial(self):
        return np.ones(40 + 4 * 8)

    def gradient(self, weights, part, parts, step):
        raise AssertionError("a task that knows what it touches is not asked for all of it")

    def touched(self, weights, part, parts, step):
        if step == STEPS - 1:
            self.turn.end()
            return 0.0, np.arange(40 + 4 * part, 44 + 4 * part), np.full(4, 1.0 + part)
        self.turn(step)
        self.seen.append(weights[:40].copy())
        random = np.random.default_rng([part, step])
        places = np.sort(random.choice(40, 4, replace=False))
        return 0.0, places, random.standard_normal(4) * weights[places]


def hogwild_plainly(comm):
    task = Sparse(InTurn(comm, comm.split(0)))
    weights = task.initial()
    hogwild.train(comm, weights, lambda *asked: task.touched(*asked)[1:], STEPS, RATE)
    return np.array(task.seen), weights


def hogwild_by_the_product(comm):
    task = Sparse(InTurn(comm, comm.split(0)))
    result = train(comm, task, Hogwild(), SharedVector(), Dense(), SGD(RATE), STEPS)
    return np.array(task.seen), result.weights


@pytest.mark.sampled(3)
def test_hogwild_in_turn_trains_as_its_product(on_one_node, ranks):
    expected = simulate(hogwild_by_the_product, ranks, network=TwoLevel(ranks)).results
    results = on_one_node(hogwild_plainly).results
    for (seen, weights), (expected_seen, expected_weights) in zip(results, expected, strict=True):
        assert_close(seen, expected_seen)
        assert_close(weights, expected_weights)


def tally(comm):
    """Each gradient subtracts one in a place of its worker: the weights count the updates."""
    weights = np.zeros(comm.size)
    places = np.array([comm.rank])
    hogwild.train(comm, weights, lambda *asked: (places, -np.ones(1)), 50, 1.0)
    return weights, comm.ledger.bytes_sent


def test_hogwild_sends_nothing_and_loses_nothing_where_places_differ(on_one_node, ranks):
    for weights, sent in on_one_node(tally).results:
        assert_close(weights, np.full(ranks, 50.0))
        assert sent == 0
