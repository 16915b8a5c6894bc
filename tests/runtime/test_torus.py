"""Torus: shortest ways, and the patterns that fit its wires or do not."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from links import coordinates, link_loads
from traffic import shift, slowdown

from ddl_runtime.topologies.torus import Torus


@given(st.lists(st.integers(2, 6), min_size=1, max_size=3).map(tuple), st.data())
def test_torus_routes_are_shortest(sizes, data):
    torus = Torus(sizes)
    hosts = st.integers(0, prod(sizes) - 1)
    source, dest = data.draw(hosts), data.draw(hosts)
    steps = [
        min((here - there) % size, (there - here) % size)
        for here, there, size in zip(
            coordinates(torus, source), coordinates(torus, dest), sizes, strict=True
        )
    ]
    assert len(torus.route(source, dest)) == sum(steps)


@pytest.mark.parametrize("sizes", [(2,), (8,), (5, 4), (4, 4, 4), (2, 3, 2, 3)])
def test_a_ring_of_ranks_has_the_wires_of_a_torus_to_itself(sizes):
    torus = Torus(sizes)
    both_ways = shift(torus.hosts, 1) + shift(torus.hosts, torus.hosts - 1)
    between = link_loads(torus, both_ways)[4 * torus.hosts :]
    assert between.max() == 1 if torus.hosts > 2 else 2


@pytest.mark.parametrize("by", range(1, 8))
def test_a_shift_by_c_on_a_ring_of_hosts_takes_c_times_as_long(by):
    assert slowdown(Torus((15,)), shift(15, by, 1e6)) == pytest.approx(by)


@pytest.mark.parametrize("size", [4, 8, 12])
def test_half_way_round_both_directions_are_used_alike(size):
    loads = link_loads(Torus((size,)), shift(size, size // 2))[4 * size :]
    assert loads.tolist() == [size / 4] * (2 * size)


@pytest.mark.parametrize("sizes", [(), (4, 1), (2.0,), (0,)])
def test_impossible_tori_are_refused(sizes):
    with pytest.raises(ValueError, match="a Torus needs sizes like"):
        Torus(sizes)


def test_latency_grows_with_the_distance():
    torus = Torus((4, 4), base_latency=1.0, hop_latency=0.5)
    assert [torus.latency(0, dest) for dest in (0, 1, 2, 3, 5, 10)] == [1, 1.5, 2, 1.5, 2, 3]
