"""Lock-free updates: one rank is plain descent, many lose next to nothing, and stale is stale."""

from dataclasses import dataclass

import numpy as np
import pytest

from ddl_runtime.topologies.point_to_point import TwoLevel, Uniform
from ddl_teach import simulate
from ddl_teach.theory.staleness import stable_rate
from ddl_teach.training.compression.half import Half
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.distribution.shared_vector import SharedVector
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.refusals import refusal
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.trainer import train

RANKS = (1, 2, 3, 4, 5, 8)
STEPS = 120


@dataclass(frozen=True)
class Tally:
    """A task whose gradient is one minus one in a few places: the weights count the updates."""

    size: int = 10_000
    few: int = 20

    def initial(self):
        return np.zeros(self.size)

    def gradient(self, weights, part, parts, step):
        raise AssertionError("a task that knows what it touches is not asked for all of it")

    def touched(self, weights, part, parts, step):
        random = np.random.default_rng([part, step])
        indices = np.sort(random.choice(self.size, self.few, replace=False))
        return 0.0, indices, -np.ones(self.few)


def lock_free(comm, task, update=SGD(0.1), steps=STEPS, pace=None):
    result = train(comm, task, Hogwild(), SharedVector(), update=update, steps=steps, pace=pace)
    return result.weights, result.staleness, result.total_bytes


def simulated(ranks, *args, **kwargs):
    def program(comm):
        return lock_free(comm, *args, **kwargs)

    return simulate(program, ranks, network=TwoLevel(ranks)).results


def several(comm, tasks):
    return [lock_free(comm, *task) for task in tasks]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_real_ranks_learn_the_digits_and_lose_next_to_nothing(ranks, real):
    tasks = [(Digits(), SGD(0.5 / ranks)), (Tally(), SGD(1.0))]
    digits, tallies = zip(*real(several, ranks, tasks=tasks).results, strict=True)
    weights = digits[0][0]
    assert all(np.array_equal(each, weights) for each, _, _ in digits)
    assert Digits().accuracy(weights) > 0.8
    counted = tallies[0][0].sum()
    made = ranks * STEPS * Tally().few
    assert 0.9 * made < counted <= made
    for _, staleness, sent in (*digits, *tallies):
        assert len(staleness) == STEPS
        assert 0 <= min(staleness) <= max(staleness) <= (ranks - 1) * STEPS
        assert sent == 0


@pytest.mark.parametrize("update", [SGD(0.3), Momentum(0.1, 0.9)])
def test_alone_it_is_plain_descent(update):
    task = Digits(dtype="float64")
    ((mine, staleness, _),) = simulated(1, task, update)
    weights = task.initial()
    states = [np.zeros_like(weights) for _ in range(update.states)]
    for step in range(STEPS):
        update(weights, task.gradient(weights, 0, 1, step)[1], states, step + 1)
    assert np.array_equal(mine, weights)
    assert set(staleness) == {0}


def test_touched_places_follow_the_rule_as_if_they_were_all():
    @dataclass(frozen=True)
    class Both(Digits):
        def touched(self, weights, part, parts, step):
            loss, gradient = self.gradient(weights, part, parts, step)
            return loss, np.arange(len(weights)), gradient

    one, other = (
        simulated(1, task(dtype="float64"), Momentum(0.1, 0.9))[0][0] for task in (Digits, Both)
    )
    assert np.allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ranks", RANKS)
def test_at_equal_pace_all_others_come_between(ranks):
    results = simulated(ranks, Tally(), SGD(1.0), pace=lambda worker, step: 1e-3)
    assert results[0][0].sum() == ranks * STEPS * Tally().few
    for worker, (_, staleness, _) in enumerate(results):
        assert staleness[0] == worker
        assert set(staleness[1:]) == {ranks - 1}


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_staleness_shrinks_the_stable_rate_as_the_formula_says(ranks):
    ends = []
    for factor in (0.93, 1.07):
        bowl = Quadratic((1.0,))
        rate = factor * stable_rate(ranks - 1)
        results = simulated(ranks, bowl, SGD(rate), steps=300, pace=lambda worker, step: 1.0)
        ends.append(abs(results[0][0][0]))
    assert ends[0] < 0.05
    assert ends[1] > 20


def test_what_makes_no_sense_says_why():
    assert "nothing travels" in refusal(Hogwild(), SharedVector(), Half())

    def program(comm):
        lock_free(comm, Tally())

    with pytest.raises(Exception, match="which share no memory"):
        simulate(program, 2, network=Uniform())
