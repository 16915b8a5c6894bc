"""Sends that end only when somebody has asked for them, as long ones do on real ranks."""

import re

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import Deadlock
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_teach import simulate
from ddl_teach.collectives import registry

NO_BUFFERS = Machine(eager=0)
NETWORKS = [Uniform(latency=1e-6, bandwidth=1e9), TwoLevel(2), FatTree(4)]

networks = pytest.mark.parametrize("network", NETWORKS, ids=lambda one: type(one).__name__)


def facing(comm, length):
    other = 1 - comm.rank
    x = np.full(length, comm.rank, np.int64)
    comm.send(x, other)
    comm.recv(x, other)
    return int(x[0])


def round_the_ring(comm, length):
    x = np.zeros(length)
    comm.isend(x, (comm.rank + 1) % comm.size).wait()
    comm.recv(x, (comm.rank - 1) % comm.size)


@pytest.mark.parametrize(("program", "ranks"), [(facing, 2), (round_the_ring, 3)])
def test_sends_that_face_each_other_tell_the_same_story_on_both_grounds(real, program, ranks):
    stories = []
    for run in (
        real,
        lambda *words, **more: simulate(*words, machine=Machine(eager=1000), **more),
    ):
        run(program, ranks, length=1)  # short ones are taken away at once
        with pytest.raises(Deadlock, match=rf"{ranks} ranks wait for each other") as caught:
            run(program, ranks, length=1_000_000)
        stories.append(re.sub(r" +at .*", "", str(caught.value)))
    assert stories[0] == stories[1]
    assert "Use sendrecv or isend" in stories[0]


@networks
def test_the_limit_is_the_last_size_that_leaves_alone(network):
    limit = Machine(eager=80)
    assert simulate(facing, 2, network=network, machine=limit, length=10).results == [1, 0]
    with pytest.raises(Deadlock):
        simulate(facing, 2, network=network, machine=limit, length=11)


def send(comm, x):
    comm.send(x, 1)


def isend(comm, x):
    comm.isend(x, 1).wait()


def sendrecv(comm, x):
    y = np.zeros(0)
    comm.isend(y, 0, tag=5)
    comm.sendrecv(x, 1, y, 0, tag=5)


def wait_any(comm, x):
    never = comm.irecv(np.zeros(1), 1, tag=9)
    assert comm.wait_any([never, comm.isend(x, 1)]) == 1
    never.wait()


@networks
@pytest.mark.parametrize("verb", [send, isend, sendrecv, wait_any])
def test_a_send_ends_when_its_receive_is_asked_for_not_when_that_is_done(network, verb):
    def program(comm):
        x = np.zeros(1000)
        if comm.rank == 0:
            verb(comm, x)
            return comm.now()
        comm.work(seconds=1)
        request = comm.irecv(x, 0, tag=5 if verb is sendrecv else 0)
        if verb is wait_any:
            comm.send(np.zeros(1), 0, tag=9)
        comm.work(seconds=1)
        request.wait()
        return comm.now()

    sent, received = simulate(program, 2, network=network, machine=NO_BUFFERS).results
    assert 1 <= sent < 1.01
    assert received == pytest.approx(2, abs=1e-4)


def reduce(comm, algorithm):
    results = []
    for length in (0, 1, 7, 1000):
        x = np.arange(length) + comm.rank
        registry.get(algorithm).allreduce(comm, x)
        results.append(x)
    return results


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
@networks
@pytest.mark.parametrize("algorithm", sorted({*registry.names()} - {"native"}))
@pytest.mark.sampled(3)
def test_no_collective_of_ours_relies_on_buffers(network, algorithm, ranks):
    plain = simulate(reduce, ranks, network=network, algorithm=algorithm)
    strict = simulate(reduce, ranks, network=network, machine=NO_BUFFERS, algorithm=algorithm)
    np.testing.assert_equal(strict.results, plain.results)
    assert [book.messages for book in strict.ledger] == [book.messages for book in plain.ledger]
    assert strict.time >= plain.time * (1 - 1e-12)


@pytest.mark.parametrize("eager", [-1, float("nan"), True, "4 kB", None])
def test_limits_that_cannot_be_are_refused(eager):
    with pytest.raises((TypeError, ValueError), match="eager"):
        Machine(eager=eager)
