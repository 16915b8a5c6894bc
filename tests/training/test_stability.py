"""Measured, stale gradients bear what theory says: by a server and in shared memory."""

import numpy as np
import pytest

from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.theory.staleness import stable_rate
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.distribution.shared_vector import SharedVector
from ddl_teach.training.stability import stable_limit

LOCK_FREE = {"consistency": Hogwild(), "distribution": SharedVector()}
SERVED = {"consistency": Asynchronous(), "distribution": Server()}
TOGETHER = {"consistency": Synchronous(), "distribution": AllReduce()}


def even(worker, step):
    return 1e-2


@pytest.mark.parametrize(
    ("ranks", "ways", "age"),
    [(1, LOCK_FREE, 0), (2, LOCK_FREE, 1), (5, LOCK_FREE, 4), (8, LOCK_FREE, 7), (3, SERVED, 1),
     (5, SERVED, 3), (4, TOGETHER, 0)],
)  # fmt: skip
@pytest.mark.sampled(3)
def test_simulated_ranks_at_equal_pace_bear_what_the_formula_says(ranks, ways, age):
    network = TwoLevel(ranks)
    limits = simulate(
        stable_limit, ranks, network=network, trace=False, steps=40, pace=even, **ways
    )
    assert len({limit.rate for limit in limits.results}) == 1
    assert limits.results[0].rate == pytest.approx(stable_rate(age), rel=0.12)
    if ways is not TOGETHER:
        ages = np.array(limits.results[-1].ages)
        assert np.median(ages) == age
        assert ages.max() == age


def both(comm):
    return [
        stable_limit(comm, steps=30, pace=lambda worker, step: 5e-4, halvings=5, **ways)
        for ways in (LOCK_FREE, SERVED)
    ]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_real_ranks_agree_on_one_limit(ranks, real):
    """How old gradients get is the machine's affair; that they then bear less is not asserted."""
    for limits in zip(*real(both, ranks).results, strict=True):
        assert len({(limit.rate, limit.ages) for limit in limits}) == 1
        assert 0.005 <= limits[0].rate <= 2.5
        if ranks > 1:
            assert len(limits[0].ages) in (30 * ranks, 30 * (ranks - 1))
    if ranks == 1:
        assert limits[0].rate == pytest.approx(2.0, rel=0.25)
