"""A link and a cluster refuse what cannot be, and give simulated ranks their own costs."""

import math

import numpy as np
import pytest
from hypothesis import given
from laws import LATENCIES, OPTIONAL_COST, PER_BYTE, close

from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Phantom, simulate
from ddl_teach.theory.machine import Cluster, Link


@pytest.mark.parametrize("name", ["latency", "per_byte", "per_byte_reduced", "overhead"])
@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan])
def test_a_link_names_the_cost_that_cannot_be(name, value):
    with pytest.raises(ValueError, match=f"{name} must be zero or more and finite"):
        Link(**({"latency": 1.0, "per_byte": 1.0} | {name: value}))
    with pytest.raises(TypeError, match=f"{name} must be a number"):
        Link(**({"latency": 1.0, "per_byte": 1.0} | {name: "1"}))


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"nodes": 0}, ValueError, "nodes must be at least 1, not 0"),
        ({"ranks_per_node": 1.5}, TypeError, r"ranks_per_node must be a whole number.*1\.5"),
        ({"cards": -1}, ValueError, "cards must be at least 1"),
        ({"oversubscription": 0.5}, ValueError, "oversubscription=0.5 must be 1 or more"),
    ],
)
def test_a_cluster_names_what_cannot_be(wrong, error, words):
    with pytest.raises(error, match=words):
        Cluster(**wrong)


@given(LATENCIES, PER_BYTE, OPTIONAL_COST)
def test_a_link_comes_back_from_its_network(latency, per_byte, overhead):
    link = Link(latency, per_byte, overhead=overhead)
    back = Link.of(link.network)
    assert (back.latency, back.overhead) == (latency, overhead)
    assert close(back.per_byte, per_byte)
    assert Link.of(Uniform(1e-6, math.inf)).network.bandwidth == math.inf


def test_a_cluster_of_which_nothing_is_said_is_one_node_of_eight():
    cluster = Cluster()
    assert (cluster.nodes, cluster.ranks, cluster.cards, cluster.oversubscription) == (
        1,
        8,
        1,
        1.0,
    )
    assert cluster.inside == Link(2e-6, 1 / 200e9)
    assert cluster.between == Link(5e-6, 1 / 25e9)
    assert (cluster.flops, cluster.memory) == (100e12, 80e9)


def message(comm, nbytes, pairs):
    """Seconds of a message from the one to the other of each pair, all at the same time."""
    for source, dest in pairs:
        if comm.rank == source:
            comm.send(Phantom(nbytes), dest)
        elif comm.rank == dest:
            comm.recv(Phantom(nbytes), source)
    return comm.now()


@pytest.mark.parametrize(("cards", "oversubscription"), [(1, 1.0), (2, 1.0), (4, 2.0)])
@pytest.mark.parametrize("messages", [1, 2, 4])
def test_messages_that_leave_a_node_at_once_take_what_the_cluster_says(
    cards, oversubscription, messages
):
    cluster = Cluster(2, 4, cards, oversubscription=oversubscription)
    pairs = [(rank, 4 + rank) for rank in range(messages)]
    case = {"network": cluster.network, "nbytes": 10**8}
    link = cluster.out(messages)
    took = np.max(simulate(message, cluster.ranks, pairs=pairs, **case).results)
    assert took == pytest.approx(link.latency + 10**8 * link.per_byte)
    near = simulate(message, cluster.ranks, pairs=[(0, 1)], **case).results[1]
    assert near == pytest.approx(cluster.inside.latency + 10**8 * cluster.inside.per_byte)
    by_card = cluster.by_card(messages)
    assert by_card.per_byte == max(link.per_byte, cluster.by_card().per_byte)
