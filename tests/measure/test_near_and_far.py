"""Near and far: on a described network the numbers that were described come back."""

import numpy as np
import pytest

from ddl_measure.near_and_far import ENDS, near_and_far, nodes_of
from ddl_runtime.topologies.point_to_point import TwoLevel, Uniform
from ddl_teach import simulate
from ddl_teach.theory.fit import fit

NETWORK = TwoLevel(2, inside=Uniform(1e-6, 1e10), between=Uniform(3e-5, 1e8))


def both(comm, sizes, dealt=False):
    if dealt:  # the same ranks on the same nodes, in another order
        comm = comm.split(0, key=comm.rank % 2)
    return nodes_of(comm), near_and_far(comm, sizes, 2)


@pytest.mark.parametrize("dealt", [False, True], ids=["filled", "dealt"])
@pytest.mark.parametrize("ranks", [3, 4, 5, 8])
def test_each_way_has_its_own_line(ranks, dealt):
    results = simulate(both, ranks, network=NETWORK, sizes=ENDS, dealt=dealt).results
    nodes, pings = results[0]
    expected = [rank // 2 for rank in range(ranks)]
    assert nodes == (expected[::2] + expected[1::2] if dealt else expected)
    for way, latency, per_byte in (("within", 1e-6, 1e-10), ("between", 3e-5, 1e-8)):
        found = pings[way]
        assert len(found["bytes"]) == len(found["seconds"]) == 2 * len(ENDS)
        model = fit(found["bytes"], found["seconds"])
        assert np.allclose([model.latency, model.per_byte], [latency, per_byte])
    for _, others in results[1:]:
        assert all(not found["seconds"] for found in others.values())


@pytest.mark.parametrize(("ranks", "missing"), [(1, {"within", "between"}), (2, {"between"})])
def test_who_has_no_partner_says_so(ranks, missing):
    _, pings = simulate(both, ranks, network=NETWORK, sizes=[1, 64]).results[0]
    assert {way for way, found in pings.items() if found is None} == missing


def test_who_shares_its_node_with_nobody_has_no_partner_within():
    apart = TwoLevel(1, inside=Uniform(1e-6, 1e10), between=Uniform(3e-5, 1e8))
    _, pings = simulate(both, 3, network=apart, sizes=[1, 64]).results[0]
    assert pings["within"] is None
