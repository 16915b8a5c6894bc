"""Rails, HammingMesh, given cables, and the three ways to route in a fat tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from links import link_loads
from traffic import shift, slowdown

from ddl_runtime.topologies.direct_links import DirectLinks
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.hamming_mesh import HammingMesh
from ddl_runtime.topologies.max_min_flows import max_min_rates
from ddl_runtime.topologies.rails import Rails
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import hierarchical, ring
from ddl_teach.theory.hashed_flows import mean_slowdown, slowest

N = 80_000_000


def reduce_all(comm, algorithm):
    algorithm.allreduce(comm, Phantom(N))


def seconds(network, algorithm=ring, ranks=None):
    ranks = ranks or network.most_ranks
    return simulate(reduce_all, ranks, network=network, algorithm=algorithm, trace=False).time


# -- rails --------


@pytest.mark.parametrize("thin", [1, 2, 8])
def test_a_ring_in_order_over_rails_is_as_slow_as_the_spine_is_thin(thin):
    full = seconds(Rails(8, 4))
    assert seconds(Rails(8, 4, oversubscription=thin)) == pytest.approx(thin * full, rel=0.02)


def test_by_parts_and_by_the_right_gpu_nothing_goes_over_the_spine():
    assert seconds(Rails(8, 4, 8), hierarchical) == seconds(Rails(8, 4), hierarchical)
    rounds = 2 * 31 * Rails(8, 4).base_latency  # the way inside a node, at most once in each step
    full, around = seconds(Rails(8, 4)), seconds(Rails(8, 4, 8, pxn=True))
    assert full < around <= full + rounds


@pytest.mark.parametrize(
    ("dest", "pxn", "latency"),
    [(1, False, 1e-6), (4, False, 5e-6), (5, False, 7e-6), (4, True, 5e-6), (5, True, 6e-6)],
)
def test_a_message_waits_for_the_spine_or_for_the_way_inside_its_node(dest, pxn, latency):
    given = {"base_latency": 5e-6, "local_latency": 1e-6, "hop_latency": 0 if pxn else 1e-6}
    assert Rails(8, 4, pxn=pxn, **given).latency(0, dest) == pytest.approx(latency)


@given(st.integers(0, 31), st.integers(0, 31), st.booleans())
def test_a_path_uses_the_spine_only_from_rail_to_rail(source, dest, pxn):
    rails = Rails(8, 4, pxn=pxn)
    spine = {link for link in rails.path(source, dest) if link >= 4 * rails.hosts}
    crosses = source // 4 != dest // 4 and source % 4 != dest % 4 and not pxn
    assert len(spine) == 2 * crosses


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"nodes": 2, "oversubscription": 0}])
def test_impossible_rails_are_refused(wrong):
    with pytest.raises(ValueError, match=r"nodes|oversubscription"):
        Rails(**wrong)


# -- HammingMesh --------


def line_of(mesh, link):
    """The host that a link belongs to, its side, and whether it comes from a switch."""
    return link // 8, link % 8 // 2, link % 2


@given(st.data())
def test_a_route_goes_from_neighbour_to_neighbour_and_through_switches_of_its_own_lines(data):
    sizes = st.integers(1, 4)
    mesh = HammingMesh(data.draw(st.tuples(sizes, sizes)), data.draw(st.tuples(sizes, sizes)))
    hosts = st.integers(0, mesh.hosts - 1)
    source, dest = data.draw(hosts), data.draw(hosts)
    columns = mesh.boards[1] * mesh.board[1]
    here = list(divmod(source, columns))
    through = [0, 0]
    # Links of both boards of a line are listed as a set: follow them from where one stands.
    left = list(mesh.route(source, dest))
    assert len(set(left)) == len(left)
    while left:
        host, side, inward = next(
            (h, s, i)
            for h, s, i in (line_of(mesh, link) for link in left)
            if (i == 0 and divmod(h, columns) == tuple(here))
        )
        left.remove(8 * host + 2 * side + inward)
        which, up = divmod(side, 2)  # which: of row and column, the one that changes
        place = here[which]
        size = mesh.board[which]
        at_edge = place % size == (size - 1 if up else 0)
        if not at_edge:
            here[which] += 1 if up else -1
            continue
        host, side, inward = next(
            (h, s, i) for h, s, i in (line_of(mesh, link) for link in left) if i == 1
            and divmod(h, columns)[1 - which] == here[1 - which] and s // 2 == which
        )  # fmt: skip
        left.remove(8 * host + 2 * side + inward)
        through[which] += 1
        here[which] = divmod(host, columns)[which]
    assert here == list(divmod(dest, columns))
    for which in (0, 1):
        boards = [divmod(host, columns)[which] // mesh.board[which] for host in (source, dest)]
        assert through[which] == (boards[0] != boards[1])


@pytest.mark.parametrize("mesh", [HammingMesh((2, 3)), HammingMesh((1, 5), (1, 4))], ids=str)
def test_rings_along_lines_have_all_links_to_themselves(mesh):
    columns = mesh.boards[1] * mesh.board[1]
    rows = mesh.hosts // columns
    along = [(h, h // columns * columns + (h + 1) % columns, 1) for h in range(mesh.hosts)]
    across = [(h, (h + columns) % mesh.hosts, 1) for h in range(mesh.hosts) if rows > 1]
    for ring_messages in (along, across):
        back = [(dest, source, 1) for source, dest, _ in ring_messages]
        assert link_loads(mesh, ring_messages + back)[4 * mesh.hosts :].max(initial=0) <= 1


# -- cables --------


def test_cables_carry_as_much_as_they_are_wide_and_only_between_neighbours():
    net = DirectLinks(((0, 1, 2), (1, 2, 1)), bandwidth=1e9)
    assert (net.hosts, net.switch_links) == (3, 4)
    assert net.capacities()[-4:].tolist() == [2e9, 2e9, 1e9, 1e9]
    with pytest.raises(ValueError, match="no cable from 0 to 2"):
        net.route(0, 2)


# -- how a fat tree routes --------


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("by", [1, 5, 8, 13])
def test_spread_evenly_no_permutation_collides(levels, by):
    tree = FatTree(8, levels, routing="adaptive")
    hosts = np.random.default_rng(by).permutation(tree.hosts)
    messages = [(int(a), int(b), 1e6) for a, b in zip(hosts, np.roll(hosts, by), strict=True)]
    assert slowdown(tree, messages) == pytest.approx(1)


def test_oversubscribed_it_is_slower_by_that_factor_for_any_permutation_out_of_the_leaf():
    tree = FatTree(12, 2, oversubscription=2, routing="adaptive")
    assert slowdown(tree, shift(tree.hosts, 8, 1e6)) == pytest.approx(2)


def fullest(tree, by):
    paths = np.array([tree.route(host, (host + by) % tree.hosts) for host in range(tree.hosts)])
    return 1 / max_min_rates(paths.T, np.ones(tree.switch_links))[0].min()


@pytest.mark.parametrize("ports", [4, 8])
def test_hashed_flows_collide_as_often_as_the_formula_says(ports):
    trees = [FatTree(ports, 2, routing="hashed", seed=seed) for seed in range(300)]
    slow = np.array([round(fullest(tree, tree.down)) for tree in trees])
    mean = mean_slowdown(ports // 2, ports // 2, ports)
    assert slow.mean() == pytest.approx(mean, abs=4 * slow.std() / 300**0.5)


@pytest.mark.parametrize(("flows", "links"), [(1, 1), (3, 2), (4, 5)])
def test_the_chances_are_those_of_all_ways_counted(flows, links):
    ways = np.indices((links,) * flows).reshape(flows, -1).T
    most = [np.bincount(way).max() for way in ways]
    chances = np.bincount(most, minlength=flows + 1) / len(ways)
    assert slowest(flows, links) == pytest.approx(chances)


def test_a_hash_is_the_same_for_ever_and_another_one_with_another_seed():
    trees = [FatTree(8, routing="hashed", seed=seed) for seed in (0, 0, 1)]
    routes = [[tree.route(0, dest) for dest in range(64, 96)] for tree in trees]
    assert routes[0] == routes[1] != routes[2]


def test_another_routing_is_refused():
    with pytest.raises(ValueError, match="destination, hashed, adaptive"):
        FatTree(4, routing="random")
