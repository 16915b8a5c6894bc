"""The plain rules against liars give what the product and NumPy give, and keep their laws."""

import numpy as np
import pytest
from comparing import assert_close, assert_differs, plain
from scipy.stats import trim_mean

from ddl_teach import simulate
from ddl_teach.theory.byzantine import most_liars
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.distribution.robust import Robust
from ddl_teach.training.distribution.robust_rules import RULES

LENGTH = 9
# By the product's name: the plain function, of rows, liars and the last result.
PLAIN = {
    "median": lambda room, rows, liars, before: room.median(rows),
    "trimmed mean": lambda room, rows, liars, before: room.trimmed_mean(rows, liars),
    "Krum": lambda room, rows, liars, before: room.krum(rows, liars),
    "centred clipping": lambda room, rows, liars, before: room.centred_clipping(rows, before),
}


def vectors(ranks, turn):
    return np.random.default_rng(turn).standard_normal((ranks, LENGTH))


def by_both(comm, rule, change=None):
    """Two averages in a row, since clipping remembers the last one."""
    liars = most_liars(rule, comm.size)
    handle = Robust(rule, liars).open(comm, np.zeros(LENGTH), Dense(), Service())
    before, results = np.zeros(LENGTH), []
    for turn in range(2):
        rows = vectors(comm.size, turn)
        vector = rows[comm.rank].copy()
        handle.average(vector)
        before = PLAIN[rule](plain("robust_aggregation", change), rows, liars, before)
        results.append((before, vector))
    return results


@pytest.mark.parametrize("rule", PLAIN)
@pytest.mark.sampled(3)
def test_it_gives_what_the_product_gives(run, ranks, rule):
    for results in run(by_both, rule=rule).results:
        for mine, its in results:
            assert_close(mine, its)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("median", ("(len(rows) - 1) // 2", "len(rows) // 2 - 1")),
        ("trimmed mean", ("len(rows) - 2 * liars", "len(rows)")),
        ("Krum", ("distances[1 : 1 + neighbours]", "distances[:1]")),
        ("centred clipping", ("min(1.0,", "max(1.0,")),
    ],
)
def test_a_changed_rule_is_noticed(rule, change):
    results = simulate(by_both, 5, rule=rule, change=change).results
    assert_differs([([a for a, _ in each], [b for _, b in each]) for each in results])


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_median_and_trimmed_mean_are_those_of_numpy_and_scipy(ranks):
    rows, room = vectors(ranks, 3), plain("robust_aggregation")
    assert_close(room.median(rows), np.median(rows, axis=0))
    for liars in range(1 + most_liars("trimmed mean", ranks)):
        assert_close(room.trimmed_mean(rows, liars), trim_mean(rows, (liars + 0.1) / ranks))


@pytest.mark.parametrize("rule", PLAIN)
@pytest.mark.parametrize("ranks", [3, 4, 5, 8])
def test_liars_within_the_breakdown_move_it_no_farther_than_the_honest_reach(ranks, rule):
    liars, room = most_liars(rule, ranks), plain("robust_aggregation")
    rows = vectors(ranks, 5)
    reach = np.linalg.norm(rows[: ranks - liars], axis=1).max()
    for far in (1e3, 1e9):
        rows[ranks - liars :] = far
        moved = PLAIN[rule](room, rows, liars, np.zeros(LENGTH))
        assert np.linalg.norm(moved) <= 3 * reach * np.sqrt(LENGTH)
    assert not liars or np.linalg.norm(rows.mean(axis=0)) > 1e6


@pytest.mark.parametrize("rule", ["median", "trimmed mean"])
@pytest.mark.parametrize("ranks", [2, 4, 5, 8])
def test_one_liar_more_moves_it_as_far_as_it_likes(ranks, rule):
    liars = most_liars(rule, ranks) + 1
    rows = vectors(ranks, 6)
    rows[-liars:] = 1e9
    assert np.linalg.norm(RULES[rule](rows, liars - 1, np.zeros(LENGTH))) > 1e6
