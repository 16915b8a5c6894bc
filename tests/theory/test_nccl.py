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
