"""What holds on every topology; star and bus; ranks that share a host."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from links import bisection_bandwidth, link_ends, link_loads
from traffic import name, pairs, shift, slowdown, times

from ddl_runtime.topologies.dragonfly import Dragonfly
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.shared_links import SharedBus, Star
from ddl_runtime.topologies.torus import Torus

ALL = [
    Star(1),
    Star(6),
    SharedBus(4),
    FatTree(2, levels=2),
    FatTree(6, levels=2, oversubscription=2),
    FatTree(4),
    FatTree(8, oversubscription=3),
    FatTree(6, ranks_per_node=2),
    Torus((2,)),
    Torus((5,)),
    Torus((4, 3, 2), ranks_per_node=3),
    Dragonfly(1, 4, 2),
    Dragonfly(4, 3, 1),
    Dragonfly(9, 4, 2),
    Dragonfly(5, 1, 2),
    Dragonfly(7, 3, 2, valiant=True),
    Dragonfly(3, 2, 2, valiant=True, seed=5, ranks_per_node=2),
]

each = pytest.mark.parametrize("topology", ALL, ids=name)


# -- every topology -------------------------------------------------------------------------


@each
def test_paths_lead_from_host_to_host_over_links_that_join(topology):
    for source, dest in pairs(topology):
        ends = [link_ends(topology, link) for link in topology.path(source, dest)]
        for (_, arriving), (leaving, _) in pairwise(ends):
            assert arriving == leaving
        if topology.node(source) == topology.node(dest):
            assert (ends[0][0], ends[-1][1]) == (f"rank {source}", f"rank {dest}")
        else:
            assert ends[0][0] == f"host {topology.node(source)}"
            assert ends[-1][1] == f"host {topology.node(dest)}"


@each
def test_the_way_back_is_as_long_and_no_path_crosses_a_link_twice(topology):
    for source, dest in pairs(topology):
        path = topology.path(source, dest)
        assert len(set(path)) == len(path) == len(topology.path(dest, source))
        assert topology.latency(source, dest) == topology.latency(dest, source)


@each
def test_every_link_has_a_number_of_its_own(topology):
    names = {link_ends(topology, link) for link in range(len(topology.capacities()))}
    rings_of_two = list(getattr(topology, "sizes", ())).count(2)  # their two cables look alike
    twins = rings_of_two * topology.hosts
    assert len(names) == len(topology.capacities()) - twins


@each
def test_links_are_full_duplex(topology):
    if isinstance(topology, SharedBus):
        return
    ends = [link_ends(topology, link) for link in range(len(topology.capacities()))]
    assert sorted(ends) == sorted((end, start) for start, end in ends)


@each
def test_a_message_alone_takes_its_latency_and_its_bytes_over_the_bandwidth(topology):
    for source, dest in pairs(topology, most=20):
        arrived = times(topology, [(source, dest, 1e6)])[source, dest]
        assert arrived == topology.latency(source, dest) + 1e6 / topology.bandwidth


@each
def test_more_ranks_than_hosts_are_refused_kindly(topology):
    topology.check_ranks(topology.most_ranks)
    ranks = topology.most_ranks + 1
    with pytest.raises(ValueError, match=f"{ranks} ranks do not fit.*ranks_per_node") as error:
        topology.check_ranks(ranks)
    assert str(topology.most_ranks) in str(error.value)
    for source, dest in [(0, topology.most_ranks), (-1, 0)]:
        with pytest.raises(ValueError, match="no path"):
            topology.path(source, dest)


@each
def test_link_loads_count_each_message_on_each_of_its_links(topology):
    messages = [(source, dest, 3) for source, dest in pairs(topology, most=50)]
    loads = link_loads(topology, messages)
    assert loads.sum() == 3 * sum(len(topology.path(*pair[:2])) for pair in messages)
    busiest = (loads / topology.capacities()).max()
    assert max(times(topology, messages).values()) >= busiest


@pytest.mark.parametrize(
    "topology",
    [
        Star(8),
        FatTree(4),
        FatTree(6, 2, oversubscription=2),
        FatTree(4, 3, oversubscription=3),
        Torus((8,)),
        Torus((4, 2)),
        Torus((2, 2, 2)),
        Torus((6, 3)),
        Dragonfly(4, 3, 1),
        Dragonfly(8, 2, 4),
    ],
    ids=name,
)
def test_the_bisection_bandwidth_is_the_most_that_can_flow_from_half_to_half(topology):
    hosts = [f"host {host}" for host in range(topology.hosts)]
    lower, upper = hosts[: len(hosts) // 2], set(hosts[len(hosts) // 2 :])
    room = {}
    for link in range(2 * topology.most_ranks, len(topology.capacities())):
        start, end = link_ends(topology, link)
        room.setdefault(start, Counter())[end] += 1
    streams = 0
    while path := free_path(room, lower, upper):
        streams += 1
        for start, end in pairwise(path):
            room[start][end] -= 1
            room[end][start] += 1
    assert bisection_bandwidth(topology) == streams * topology.bandwidth


def free_path(room, starts, ends):
    """A way from one of `starts` to one of `ends` where there is room (Ford and Fulkerson)."""
    paths = [[start] for start in starts]
    seen = set(starts)
    for path in paths:
        if path[-1] in ends:
            return path
        after = [place for place, free in room[path[-1]].items() if free and place not in seen]
        seen.update(after)
        paths += [[*path, place] for place in after]
    return None


# -- ranks that share a node ----------------------------------------------------------------


def test_ranks_fill_nodes_in_order_and_share_the_nodes_link():
    star = Star(3, ranks_per_node=4, base_latency=0.0, bandwidth=8.0)
    assert [star.node(rank) for rank in range(12)] == [0] * 4 + [1] * 4 + [2] * 4
    out_of_one_node = [(rank, 4 + rank, 8.0) for rank in range(4)]
    assert set(times(star, out_of_one_node).values()) == {4.0}


def test_messages_inside_a_node_leave_its_link_alone():
    star = Star(
        2,
        ranks_per_node=2,
        bandwidth=1.0,
        base_latency=3.0,
        local_bandwidth=4.0,
        local_latency=0.5,
    )
    arrived = times(star, [(0, 1, 8.0), (1, 2, 8.0)])
    assert arrived == {(0, 1): 0.5 + 2.0, (1, 2): 3.0 + 8.0}


def test_memory_may_be_endlessly_fast():
    star = Star(1, ranks_per_node=2, local_bandwidth=float("inf"), local_latency=0.0)
    assert times(star, [(0, 1, 1e9)]) == {(0, 1): 0.0}


# -- star and bus ---------------------------------------------------------------------------


@given(st.permutations(range(9)))
def test_on_a_star_no_permutation_is_slowed(permutation):
    star = Star(9)
    messages = [(source, dest, 1e6) for source, dest in enumerate(permutation)]
    assert set(times(star, messages).values()) == {1e6 / star.bandwidth + star.base_latency}


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_messages_to_one_host_share_its_link(ranks):
    for topology in (Star(ranks), FatTree(4), Torus((4, 2)), Dragonfly(4, 2, 1)):
        incast = [(rank, 0, 1e6) for rank in range(1, ranks)]
        assert slowdown(topology, incast) == pytest.approx(ranks - 1)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_on_a_bus_messages_take_as_long_as_their_number(ranks):
    assert slowdown(SharedBus(ranks), shift(ranks, 1, 1e6)) == pytest.approx(ranks)


# -- mistakes -------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["base_latency", "hop_latency", "overhead", "local_latency"])
def test_negative_times_are_refused(field):
    with pytest.raises(ValueError, match=field):
        Star(4, **{field: -1e-6})


@pytest.mark.parametrize("field", ["bandwidth", "local_bandwidth"])
def test_bandwidths_of_zero_are_refused(field):
    with pytest.raises(ValueError, match="bandwidth"):
        Star(4, **{field: 0.0})
