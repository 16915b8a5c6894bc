"""Overlap in simulated time: work hides messages, and program and background share the ports."""

import pytest

from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Phantom, simulate

LATENCY, PER_BYTE = 5.0, 0.5
SHORT, LONG = 3.0, 100.0  # seconds of work, less and more than the messages beside it


def clocks(program):
    """The clocks of two ranks when the program has ended."""

    def timed(comm):
        program(comm)
        return comm.now()

    return simulate(timed, 2, network=Uniform(LATENCY, 1 / PER_BYTE)).results


def cost(nbytes):
    return nbytes * PER_BYTE


@pytest.mark.parametrize("seconds", [SHORT, LONG])
def test_work_hides_messages_that_were_begun_before(seconds):
    def program(comm):
        other = 1 - comm.rank
        requests = [comm.irecv(Phantom(10), other), comm.isend(Phantom(10), other)]
        comm.work(seconds=seconds)
        for request in requests:
            request.wait()

    assert clocks(program) == [max(seconds, LATENCY + cost(10))] * 2


def test_a_message_may_arrive_before_it_is_asked_for():
    def program(comm):
        if comm.rank == 0:
            comm.send(Phantom(10), 1)
        else:
            comm.work(seconds=LONG)
            comm.recv(Phantom(10), 0)

    assert clocks(program) == [cost(10), LONG]


@pytest.mark.parametrize("seconds", [SHORT, LONG])
def test_work_hides_a_background_function(seconds):
    started = []

    def program(comm):
        def beside(other):
            for _ in range(3):
                other.sendrecv(Phantom(10), 1 - comm.rank, Phantom(10), 1 - comm.rank)

        request = comm.background(beside)
        started.append(comm.now())  # they meet at the first one
        comm.work(seconds=seconds)
        request.wait()

    times = clocks(program)
    assert times == [started[0] + max(seconds, 3 * (LATENCY + cost(10)))] * 2


def test_a_background_function_and_the_program_use_a_port_in_the_order_of_time():
    """A message of the program's future holds up nothing that the background sends before it."""

    def program(comm):
        other = 1 - comm.rank

        def beside(twin):
            twin.sendrecv(Phantom(10), other, Phantom(10), other)

        request = comm.background(beside)
        comm.work(seconds=LONG - comm.now())
        comm.sendrecv(Phantom(10), other, Phantom(10), other)
        request.wait()

    assert clocks(program) == [LONG + LATENCY + cost(10)] * 2


def test_many_messages_of_program_and_background_share_the_port():
    rounds = 60

    def program(comm):
        other = 1 - comm.rank

        def beside(twin):
            for _ in range(rounds):
                twin.sendrecv(Phantom(2), other, Phantom(2), other)
            ends[comm.rank] = twin.now()

        request = comm.background(beside)
        begun = comm.now()
        for _ in range(rounds):
            comm.work(seconds=4)
            comm.sendrecv(Phantom(2), other, Phantom(2), other)
        mains[comm.rank] = comm.now() - begun
        request.wait()
        ends[comm.rank] -= begun

    ends, mains = {}, {}
    clocks(program)
    alone = LATENCY + cost(2)
    for rank in (0, 1):
        assert rounds * alone <= ends[rank] <= rounds * (alone + 2 * cost(2))
        assert rounds * (4 + alone) <= mains[rank] <= rounds * (4 + alone + 2 * cost(2))
