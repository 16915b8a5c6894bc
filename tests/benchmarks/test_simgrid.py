import re
import shutil
from xml.etree import ElementTree

import pytest

from benchmarks.simgrid import platform, runner
from benchmarks.simgrid.compare import MIB, RESULTS, SHARED, cause
from benchmarks.simgrid.programs import PATTERNS
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.hamming_mesh import HammingMesh
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_runtime.topologies.rails import Rails
from ddl_runtime.topologies.torus import Torus
from ddl_teach import simulate
from ddl_teach.theory.machine import Cluster


def test_both_sides_have_the_same_patterns():
    table = runner.SOURCE.read_text().partition("patterns = {")[2].partition("};")[0]
    assert re.findall(r'\{"(\w+)", \1\}', table) == list(PATTERNS)


@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
def test_a_uniform_network_is_a_star_with_half_of_the_latency_on_either_side(ranks):
    network = Uniform(latency=3e-6, bandwidth=7e9)
    (cluster,) = ElementTree.fromstring(platform.describe(network, ranks))
    assert cluster.get("radical") == f"0-{ranks - 1}"
    assert 2 * float(cluster.get("lat").removesuffix("s")) == network.latency
    assert float(cluster.get("bw").removesuffix("Bps")) == network.bandwidth


@pytest.mark.parametrize(
    "network",
    [
        FatTree(ports=4, hop_latency=1e-7),
        FatTree(ports=6, levels=2, oversubscription=2),
        Torus(sizes=(3, 4), hop_latency=2e-7),
        Cluster(nodes=3, ranks_per_node=4).network,
        FatTree(ports=6, levels=2, hop_latency=1e-7, routing="hashed", seed=1),
        FatTree(ports=6, levels=2, hop_latency=1e-7, routing="adaptive"),
        Rails(nodes=3, gpus=3, hop_latency=1e-7, local_latency=3e-7),
        Rails(nodes=3, gpus=3, pxn=True, local_latency=3e-7),
        HammingMesh(boards=(2, 2), hop_latency=1e-7),
    ],
    ids=[
        "fat tree",
        "oversubscribed",
        "torus",
        "nodes",
        "hashed",
        "adaptive",
        "rails",
        "PXN",
        "HammingMesh",
    ],
)
def test_every_pair_takes_our_route_with_our_latency(network):
    ranks = 9
    (zone,) = ElementTree.fromstring(platform.describe(network, ranks))
    links = {link.get("id"): link for link in zone.iter("link")}
    routes = list(zone.iter("route"))
    assert len(routes) == ranks * (ranks - 1)
    for route in routes:
        source, dest = (int(route.get(end).removeprefix("rank-")) for end in ("src", "dst"))
        crossed = [link.get("id") for link in route]
        assert tuple(map(int, crossed)) == network.path(source, dest)
        latency = sum(float(links[name].get("latency").removesuffix("s")) for name in crossed)
        assert latency == pytest.approx(network.latency(source, dest), rel=1e-12)
    for name, link in links.items():
        assert float(link.get("bandwidth").removesuffix("Bps")) == network.capacities()[int(name)]


@pytest.mark.parametrize("ranks", [4, 8, 64])
@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_programs_end_and_leave_no_message_behind(pattern, ranks):
    run = simulate(PATTERNS[pattern], ranks, trace=False, nbytes=64 * 2**10)
    assert run.time > 0


def test_a_deviation_has_a_cause():
    assert cause(1.0, 1.0, 1.005) == ""
    assert "protocol" in cause(1.0, 1.2, 1.0)
    assert "UNEXPLAINED" in cause(1.0, 1.2, 1.2)


@pytest.mark.parametrize("network", SHARED)
@pytest.mark.sampled(6)
def test_the_recorded_times_of_simgrid_are_still_ours(network):
    """Where SimGrid is not installed as well: ten patterns on each network, by our protocol."""
    table = RESULTS.read_text().partition("On shared links")[2].splitlines()
    rows = [line[14:].split() for line in table if line[:14].strip() == network]
    assert [row[0] for row in rows] == list(PATTERNS)
    assert len(rows) == 10
    for pattern, *_, theirs, _ratio in (row[:6] for row in rows):
        ours = simulate(PATTERNS[pattern], 64, network=SHARED[network], trace=False, nbytes=MIB)
        assert ours.time == pytest.approx(float(theirs), rel=1e-3), pattern


def test_without_a_compiler_it_says_how_to_get_one(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(runner.NotInstalled, match=r"(?s)no g\+\+.*apt-get install g\+\+ libsim"):
        runner.SimGrid().__enter__()


@pytest.fixture(scope="module")
def installed():
    try:
        with runner.SimGrid() as simgrid:
            yield simgrid
    except runner.NotInstalled:
        pytest.skip("SimGrid is a system package and not installed here")


@pytest.mark.slow
@pytest.mark.parametrize("pattern", sorted(PATTERNS))
@pytest.mark.sampled(4)
def test_both_simulators_say_the_same(installed, pattern):
    nbytes, uniform = 2**16, Uniform(latency=2e-6, bandwidth=5e9)
    tree = FatTree(ports=6, levels=2, oversubscription=2)
    for network, protocol in ((uniform, "rendezvous"), (uniform, "ports"), (tree, "ports")):
        ours = simulate(PATTERNS[pattern], 16, network=network, trace=False, nbytes=nbytes)
        theirs = installed.run(network, pattern, 16, nbytes, protocol)
        assert ours.time == pytest.approx(theirs.time, rel=1e-6)
        assert sum(ledger.messages_sent for ledger in ours.ledger) == theirs.messages
