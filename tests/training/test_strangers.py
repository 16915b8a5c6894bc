"""Strangers: outer steps in pairs, and averages that liars cannot move."""

import numpy as np
import pytest

from benchmarks import liars
from ddl_teach import simulate
from ddl_teach.theory import byzantine
from ddl_teach.theory.gossip import contraction, graphs, mixing
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.half import Half
from ddl_teach.training.consistency.block_momentum import BlockMomentum
from ddl_teach.training.consistency.noloco import NoLoCo
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.neighbours import Neighbours
from ddl_teach.training.distribution.robust import Robust
from ddl_teach.training.distribution.robust_rules import RULES
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.trainer import train

RANKS = (1, 2, 3, 4, 5, 8)
TASK = Digits(batch=4, hidden=4, dtype="float64")


def weights(comm, when, path, task=TASK, steps=12, compressor=Dense(), rate=0.1):
    return train(comm, task, when, path, compressor, SGD(rate), steps).weights


@pytest.fixture(params=["simulated", "real"])
def run(request):
    if request.param == "real":
        return request.getfixturevalue("real")
    return simulate


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_noloco_among_all_is_block_momentum(run, ranks):
    pairs = run(weights, ranks, when=NoLoCo(3, 0.5, 1.0), path=Neighbours(graphs.complete))
    blocks = simulate(weights, ranks, when=BlockMomentum(3, 0.5), path=AllReduce())
    np.testing.assert_allclose(pairs.results, blocks.results, rtol=1e-9, atol=1e-12)


def by_one_process(ranks, when, task, steps, rate):
    graph = graphs.random_pairs(ranks)
    slow = np.stack([task.initial()] * ranks)
    velocity = np.zeros_like(slow)
    for number, begin in enumerate(range(0, steps, when.period)):
        own = slow.copy()
        for step in range(begin, min(begin + when.period, steps)):
            own -= rate * np.stack(
                [task.gradient(own[rank], rank, ranks, step)[1] for rank in range(ranks)]
            )
        mixing_matrix = mixing.mixing_matrix(graph, number)
        velocity = (
            when.momentum * velocity
            + when.rate * mixing_matrix @ (own - slow)
            - when.pull * (slow - mixing_matrix @ slow)
        )
        slow = slow + velocity
    return slow


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_noloco_in_pairs_is_its_serial_twin(run, ranks):
    when = NoLoCo(4, 0.3, 0.7, 0.8)
    results = run(weights, ranks, when=when, path=Neighbours(graphs.random_pairs)).results
    twin = by_one_process(ranks, when, TASK, 12, 0.1)
    np.testing.assert_allclose(results, twin, rtol=1e-9, atol=1e-12)


def test_without_the_pull_workers_part():
    def apart(pull):
        task = Quadratic((1.0, 0.1, 0.01), noise=1.0)
        when = NoLoCo(4, 0.0, 1.0, pull)
        run = simulate(weights, 8, when=when, path=Neighbours(graphs.random_pairs), task=task,
                       steps=160)  # fmt: skip
        return contraction.consensus_error(run.results)

    assert apart(0.0) > 2 * apart(1.0)


@pytest.mark.parametrize("setting", [{"momentum": 1.0}, {"pull": 2.0}, {"period": 0}])
def test_settings_of_noloco_that_make_no_sense(setting):
    with pytest.raises(ValueError, match="NoLoCo"):
        NoLoCo(**setting)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8, 64])
def test_random_pairs_are_pairs_and_shrink_as_the_formula_says(ranks):
    graph = graphs.random_pairs(ranks, 4000)
    matrices = [mixing.mixing_matrix(graph, step) for step in range(4000)]
    assert np.allclose(matrices[0] @ matrices[0], matrices[0])
    assert all(len(graph.sends_to(rank)) <= 1 for rank in range(ranks))
    x = np.random.default_rng(ranks).standard_normal(ranks)
    x -= x.mean()
    left = np.mean([np.sum((matrix @ x) ** 2) for matrix in matrices])
    assert left == pytest.approx(contraction.random_pairs(ranks) * np.sum(x * x), rel=0.06)


# -- liars -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_ranks_do_what_the_benchmark_does_in_one_process(run, ranks, rule):
    few = min(2, (ranks - 1) // 2)
    when = BlockMomentum(4, 0.5)
    results = run(weights, ranks, when=when, path=Robust(rule, few, liars.little)).results
    twin = liars.trained(TASK, ranks, rule, liars.little, few, 0.1, 3, period=4)
    np.testing.assert_allclose(results, [twin] * ranks, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_one_huge_liar_of_five_is_nothing_to_all_but_the_mean(rule):
    path = Robust(rule, 1, liars.huge)
    results = simulate(weights, 5, when=BlockMomentum(4, 0.5), path=path, steps=80, rate=0.03)
    loss = TASK.loss(results.results[0])
    assert (loss > 5 * TASK.loss(TASK.initial())) if rule == "mean" else (loss < 2.0)


def test_half_numbers_travel_too_and_lengths_that_vary_do_not():
    run = simulate(weights, 3, when=BlockMomentum(4, 0.5), path=Robust(), compressor=Half())
    assert len({result.tobytes() for result in run.results}) == 1


@pytest.mark.parametrize(
    ("setting", "what"),
    [({"rule": "mode"}, "no rule of Robust is"), ({"liars": -1}, "liars")],
)
def test_rules_that_do_not_exist_are_refused(setting, what):
    with pytest.raises(ValueError, match=what):
        Robust(**setting)


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 5, 8, 9])
def test_the_variance_of_a_median_is_that_of_many_drawn(workers):
    drawn = np.median(np.random.default_rng(0).standard_normal((200_000, workers)), axis=1)
    assert byzantine.median_variance(workers) == pytest.approx(workers * drawn.var(), rel=0.02)


def test_the_variance_of_many_is_near_half_of_pi():
    assert byzantine.median_variance(301) == pytest.approx(np.pi / 2, rel=0.01)


@pytest.mark.parametrize(("rounds", "share"), [(0, 0.1), (5, 0.125), (40, 0.02), (3, 1.0)])
def test_a_liar_is_found_as_often_as_the_formula_says(rounds, share):
    lots = np.random.default_rng(1).random((20_000, rounds)) < share
    expected = lots.any(axis=1).mean() if rounds else 0
    assert byzantine.found_within(rounds, share) == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize(
    ("places", "liars", "chosen"),
    [
        ([0.0, 1.0, 2.1, 10.0, 100.0], 1, 1.0),  # two nearest: 1 + 1.21 are least
        ([0.0, 1.0, 2.1, 10.0, 100.0], 2, 1.0),  # one: 1 is as near to 0, which comes later
        ([0.0, 3.0, 4.0, 5.0, 9.0, 60.0], 1, 3.0),  # three: 1 + 4 + 9
        (
            [0.0, 5.0, 6.0],
            1,
            6.0,
        ),  # the one nearest, and 6 comes before 5
    ],
)
def test_krum_takes_the_row_whose_nearest_others_are_nearest(places, liars, chosen):
    """P - liars - 2 of them; of all others the mean would be pulled to where a liar wants it."""
    rows = np.array(places)[::-1, None]
    assert RULES["Krum"](rows, liars, rows[0]) == chosen
