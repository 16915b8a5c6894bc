"""Staging on simulated ranks: what a message between devices takes is what the formula says."""

import numpy as np
import pytest

from ddl_runtime.devices.choice import Reach
from ddl_runtime.devices.stand_in import StandInDevice
from ddl_runtime.topologies.point_to_point import HostLink, Uniform
from ddl_teach import simulate
from ddl_teach.collectives import ring, staged_once
from ddl_teach.theory import staging
from ddl_teach.theory.staging import Route, TransferStage

LINKS = {  # the slowest stage is the wire, a copy's bytes, a copy's start
    "wire": HostLink(1e-6, 5e9),
    "bytes": HostLink(3e-6, 2e8),
    "start": HostLink(5e-5, 9e8),
}
LATENCY, BANDWIDTH = 7e-6, 1e9
SIZES = (1, 3000, 4001, 70_000, 100_003)
CHUNKS = (0, 1000, 4096, 33_333, 70_000)


def network(link, gap=0.0):
    return Uniform(LATENCY, BANDWIDTH, gap=gap, host_link=link)


def route(link, gap=0.0):
    """A gap keeps the next message back, and is part of the latency of this one."""
    copy = TransferStage(link.start, 1 / link.bandwidth)
    return Route(copy, TransferStage(gap, 1 / BANDWIDTH, LATENCY - gap), copy)


def expected(nbytes, chunk, link, gap=0.0):
    # Messages of up to 4000 bytes have no head that a receiver could tell chunks by.
    if chunk and nbytes > 4000:
        return staging.pipelined(nbytes, chunk, route(link, gap))
    return staging.staged(nbytes, route(link, gap))


def one_message(comm, nbytes, table):
    comm.device_table = table
    x = StandInDevice("late").array(np.arange(nbytes, dtype=np.uint32).astype(np.uint8))
    if comm.rank == 0:
        comm.send(x, 1)
        return None
    y = x.comm_device.empty(nbytes, np.uint8)
    comm.recv(y, 0)
    taken = comm.now()
    return taken, np.array_equal(y.to_host(), x.to_host())


def table(chunk):
    return {"message": (Reach(0, "pipelined", chunk) if chunk else Reach(0, "staged"),)}


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("gap", [0.0, 2e-6])
@pytest.mark.parametrize("link", LINKS)
def test_a_lone_message_takes_exactly_what_the_formula_says(link, gap, nbytes, chunk):
    link = LINKS[link]
    asked = {"nbytes": nbytes, "table": table(chunk), "network": network(link, gap)}
    run = simulate(one_message, 2, trace=False, **asked)
    taken, same = run.results[1]
    assert same
    assert taken == pytest.approx(expected(nbytes, chunk, link, gap), rel=1e-12)
    kind = "device pipelined" if chunk and nbytes > max(chunk, 4000) else "device staged"
    assert run.ledger[0].by_kind() == {kind: 1}


def test_without_a_host_link_every_message_goes_directly():
    direct = staging.direct(70_000, TransferStage(0.0, 1 / BANDWIDTH, LATENCY))
    asked = {"nbytes": 70_000, "table": None, "network": network(None)}
    run = simulate(one_message, 2, trace=False, **asked)
    assert run.results[1][0] == pytest.approx(direct, rel=1e-12)
    assert run.ledger[0].by_kind() == {"device direct": 1}


@pytest.mark.parametrize("link", LINKS)
def test_the_best_chunk_is_best_on_simulated_ranks_too(link):
    link, nbytes = LINKS[link], 100_000
    best = int(np.ceil(staging.best_chunk(nbytes, route(link))))
    taken = {
        chunk: simulate(
            one_message, 2, trace=False, network=network(link), nbytes=nbytes, table=table(chunk)
        ).results[1][0]
        for chunk in {best, best // 2, 2 * best, nbytes // 3, nbytes // 2, nbytes}
    }
    shortest = staging.in_equal_chunks(nbytes, round(nbytes / best), route(link))
    assert taken[best] == pytest.approx(shortest, rel=1e-3)
    assert all(taken[best] <= other * (1 + 1e-3) for other in taken.values())


def all_of_a_ring(comm, nbytes, table, way=ring):
    comm.device_table = table
    x = StandInDevice("early").array(np.ones(nbytes // 4, np.float32))
    way.allreduce(comm, x)
    taken = comm.now()
    return taken, bool((x.to_host() == comm.size).all())


@pytest.mark.parametrize("chunk", [0, 4096])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_a_ring_of_messages_between_devices(ranks, chunk):
    link = LINKS["bytes"]
    nbytes = ranks * 4 * 5000
    asked = {"nbytes": nbytes, "table": table(chunk), "network": network(link)}
    run = simulate(all_of_a_ring, ranks, trace=False, **asked)
    formula = staging.allreduce_in_steps(ranks, nbytes, lambda part: expected(part, chunk, link))
    for taken, right in run.results:
        assert right
        assert taken == pytest.approx(formula, rel=1e-12)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_a_ring_between_one_copy_out_and_one_copy_in(ranks):
    link, nbytes = LINKS["start"], ranks * 4 * 5000
    asked = {"nbytes": nbytes, "table": None, "network": network(link), "way": staged_once}
    run = simulate(all_of_a_ring, ranks, trace=False, **asked)
    formula = staging.allreduce_once(ranks, nbytes, route(link))
    for taken, right in run.results:
        assert right
        assert taken == pytest.approx(formula, rel=1e-12)
