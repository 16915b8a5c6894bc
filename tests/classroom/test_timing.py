"""The stopwatch reads the clock of its ground, for every way, size and turn."""

import numpy as np
import pytest

from ddl_class import stopwatch
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.collectives import recursive_doubling, ring
from ddl_teach.theory.collectives import formula
from ddl_teach.theory.machine import Link

SIZES = [64, 4096, 2**20]
WAYS = [ring.allreduce, recursive_doubling.allreduce]


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_simulated_times_are_those_of_the_formulas(ranks):
    network = Uniform(latency=3e-6, bandwidth=2e9)
    run = simulate(stopwatch, ranks, network=network, sizes=SIZES, ways=WAYS, turns=3)
    for times in run.results:
        assert times.shape == (3, len(WAYS), len(SIZES))
        for way, name in enumerate(("ring", "recursive_doubling")):
            predicted = formula(name)(ranks, np.array(SIZES), Link.of(network))
            assert np.allclose(times[:, way], predicted)


def test_real_times_pass(real):
    times = np.array(real(stopwatch, 3, sizes=SIZES, ways=WAYS, turns=2).results)
    assert times.shape == (3, 2, len(WAYS), len(SIZES))
    assert (times > 0).all()
