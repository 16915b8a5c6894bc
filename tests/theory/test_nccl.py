"""A switch that adds, and NCCL's protocols: formulas beside simulations."""

import numpy as np
import pytest

from ddl_teach import Phantom, simulate
from ddl_teach.collectives import switch
from ddl_teach.theory import collectives, nccl
from ddl_teach.theory.machine import Link

LINK = Link(2e-6, 1 / 25e9)


def in_the_switch(comm, length):
    x = np.arange(float(length)) + comm.rank
    switch.allreduce(comm, x, pieces=4)
    return x


@pytest.mark.parametrize("hosts", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("length", [0, 3, 400])
def test_a_switch_adds_up(hosts, length):
    run = simulate(in_the_switch, hosts + 1, network=switch.star(hosts, 2e-6, 25e9), length=length)
    expected = np.arange(length) * hosts + hosts * (hosts - 1) / 2
    assert all(np.array_equal(x, expected) for x in run.results[:-1])
    assert {ledger.bytes_sent for ledger in run.ledger[:-1]} == {8 * length}


@pytest.mark.parametrize("hosts", [1, 2, 4, 8])
def test_a_switch_takes_the_time_of_its_formula(hosts):
    def program(comm):
        switch.allreduce(comm, Phantom(1_600_000), pieces=16)

    time = simulate(program, hosts + 1, network=switch.star(hosts, 2e-6, 25e9)).time
    assert time == pytest.approx(nccl.in_the_switch(1_600_000, LINK, 16), rel=1e-9)


def test_short_messages_go_by_ll_and_long_ones_by_simple():
    def fastest(nbytes):
        links = {name: way.link(25e9) for name, way in nccl.PROTOCOLS.items()}
        return min(links, key=lambda name: collectives.ring(8, nbytes, links[name]))

    assert [fastest(nbytes) for nbytes in (1e3, 1e6, 1e8)] == ["LL", "LL128", "Simple"]


@pytest.mark.parametrize("hosts", [3, 4, 8])
def test_a_switch_is_below_the_bound_of_ranks_that_add(hosts):
    endless = Link(0.0, LINK.per_byte)
    bound = collectives.ring(hosts, 1e8, endless)
    assert nccl.in_the_switch(1e8, endless, 64) < bound


def best(nbytes, nodes, gpu="H100"):
    times = nccl.expected(nbytes, nodes, 8, gpu)
    return min(times, key=times.get)


def test_what_nccl_expects_by_hand():
    """Eight GPUs of one node: 14 hops, or 7 up and 7 down; the LL of a ring has half the rate."""
    times = nccl.expected(8e6, 1, 8, "A100")
    assert times["ring LL"] == pytest.approx(6.6e-6 + 14 * 0.6e-6 + 14e6 / 87.7e9)
    assert times["ring Simple"] == pytest.approx(8.4e-6 + 14 * 3.4e-6 + 14e6 / 240e9)
    assert times["tree Simple"] == pytest.approx(8.4e-6 + 14 * 4e-6 + 16e6 / (0.92 * 240e9))
    assert "switch Simple" not in times
    far = nccl.expected(0, 16, 8, "H100")
    assert far["tree LL"] == pytest.approx(6.8e-6 + 14 * 0.6e-6 + 8 * 5e-6)
    assert far["ring LL128"] == pytest.approx(14e-6 + 224 * 1.9e-6 + 30 * 4e-6)


# Microseconds to begin, for a hop inside a node, and for one between nodes.
@pytest.mark.parametrize(
    ("name", "begin", "near", "far"),
    [
        ("ring LL", 6.6, 0.6, 2.7),
        ("ring LL128", 14.0, 1.9, 4.0),
        ("ring Simple", 8.4, 3.4, 14.0),
        ("tree LL", 6.8, 0.6, 5.0),
        ("tree LL128", 14.0, 1.25, 8.5),
        ("tree Simple", 8.4, 4.0, 14.0),
    ],
)
def test_without_bytes_only_the_hops_are_left(name, begin, near, far):
    hops = {"ring": (2 * (32 - 4), 2 * 3), "tree": (2 * 7, 2 * 2)}[name.split()[0]]
    microseconds = begin + hops[0] * near + hops[1] * far
    assert nccl.expected(0, 4, 8)[name] == pytest.approx(1e-6 * microseconds)
    assert nccl.expected(1e6, 4, 8)[name] > 1e-6 * microseconds


def test_nccl_takes_trees_on_many_nodes_and_switches_in_one():
    assert [best(nbytes, 1) for nbytes in (1e3, 1e8)] == ["ring LL", "switch Simple"]
    assert [best(nbytes, 16) for nbytes in (1e3, 4e6)] == ["tree LL", "tree LL128"]
    assert best(1e9, 1, "A100") == "ring Simple"


@pytest.mark.parametrize("gpu", nccl.GENERATIONS)
def test_expected_times_of_several_sizes(gpu):
    times = nccl.expected(np.array([0, 1e3, 1e6, 1e9]), 2, 8, gpu)
    assert all((np.diff(row) > 0).all() for row in times.values())
    assert {name: row[2] for name, row in times.items()} == nccl.expected(1e6, 2, 8, gpu)


def test_unless_told_otherwise_nodes_have_h100_and_400_gb_a_second():
    times = nccl.expected(1e9, 4, 8)
    assert times == nccl.expected(1e9, 4, 8, "H100", cards=400e9)
    cards = nccl.expected(1e9, 4, 8, "B200", cards=400e9)  # whose NVLinks carry more than that
    assert nccl.expected(1e9, 4, 8, "B200") == cards
    assert times["ring Simple"] < nccl.expected(1e9, 4, 8, cards=200e9)["ring Simple"]
