"""Dragonfly: one cable between groups, its bad pattern, and Valiant's way out."""

import pytest
from links import link_loads, switch_link_ends
from traffic import pairs, shift, slowdown

from ddl_runtime.topologies.dragonfly import Dragonfly


@pytest.mark.parametrize("shape", [(9, 4, 2), (5, 2, 3), (4, 3, 1), (3, 4, 2)])
def test_every_two_groups_have_one_cable_and_routers_have_their_share(shape):
    dragonfly = Dragonfly(*shape)
    groups, routers, _ = shape
    ends = [switch_link_ends(dragonfly, link) for link in range(dragonfly.switch_links)]
    across = [(start, end) for start, end in ends if start.split()[-1] != end.split()[-1]]
    joined = {(start.split()[-1], end.split()[-1]) for start, end in across}
    assert len(joined) == len(across) == groups * (groups - 1)
    per_router = [sum(start == router for start, _ in across) for router in {s for s, _ in ends}]
    assert max(per_router) == -(-(groups - 1) // routers) == dragonfly.global_links


@pytest.mark.parametrize(("valiant", "cables", "longest"), [(False, 1, 3), (True, 2, 5)])
def test_a_dragonfly_route_crosses_one_long_cable_and_with_valiant_two(valiant, cables, longest):
    dragonfly = Dragonfly(9, 4, 2, valiant=valiant)
    for source, dest in pairs(dragonfly):
        route = dragonfly.route(source, dest)
        across = [link for link in route if link >= dragonfly.local_links]
        assert len(across) == (cables if source // 8 != dest // 8 else 0)
        assert len(route) <= longest


def test_valiant_spreads_what_the_shortest_way_squeezes_into_one_cable():
    """All of a group send to the next group: 8 messages on its one cable, or over 7 others."""
    direct, valiant = Dragonfly(9, 4, 2), Dragonfly(9, 4, 2, valiant=True)
    to_next_group = shift(72, 8, 1e6)
    assert slowdown(direct, to_next_group) == pytest.approx(8)
    assert slowdown(valiant, to_next_group) < 8
    everybody = [(source, dest, 1.0) for source in range(72) for dest in range(72)]
    loads = [link_loads(each, everybody).sum() for each in (direct, valiant)]
    assert 1.3 < loads[1] / loads[0] < 2


def test_the_seed_alone_decides_valiants_detours():
    routes = [
        [Dragonfly(9, 4, 2, valiant=True, seed=seed).route(0, dest) for dest in range(8, 72)]
        for seed in (1, 1, 2)
    ]
    assert routes[0] == routes[1] != routes[2]


def test_impossible_dragonflies_are_refused():
    with pytest.raises(ValueError, match="3 groups or more"):
        Dragonfly(2, 4, 2, valiant=True)
    with pytest.raises(ValueError, match="routers must be at least 1"):
        Dragonfly(2, 0, 2)
