"""The laws of simulated time: what one message costs, many at one port, and a meeting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_runtime.topologies.shared_links import Star
from ddl_teach import ANY, Phantom, simulate
from ddl_teach.theory.machine import Roofline

LATENCY, PER_BYTE, OVERHEAD, GAP = 5.0, 0.5, 0.25, 2.0
PLAIN = Uniform(LATENCY, 1 / PER_BYTE)
RANKS = (1, 2, 3, 4, 5, 8)
SIZES = (0, 1, 7, 1000)
LONG = 100.0


def clocks(program, ranks=2, network=PLAIN, **kwargs):
    """The clock of every rank when the program has ended; the last one is the run's time."""

    def timed(comm):
        program(comm)
        return comm.now()

    run = simulate(timed, ranks, network=network, **kwargs)
    assert run.time == max(run.results)
    return run.results


def cost(nbytes):
    return nbytes * PER_BYTE


# -- one message ----------------------------------------------------------------------------


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("overhead", [0.0, OVERHEAD])
def test_one_message_costs_latency_and_its_bytes_and_overhead_at_both_ends(nbytes, overhead):
    def program(comm):
        if comm.rank == 0:
            comm.send(Phantom(nbytes), 1)
        else:
            comm.recv(Phantom(nbytes), 0)

    sent = overhead + cost(nbytes)
    network = Uniform(LATENCY, 1 / PER_BYTE, overhead)
    assert clocks(program, network=network) == [sent, sent + LATENCY + overhead]


@pytest.mark.parametrize("nbytes", SIZES)
def test_an_exchange_costs_one_message(nbytes):
    def program(comm):
        comm.sendrecv(Phantom(nbytes), 1 - comm.rank, Phantom(nbytes), 1 - comm.rank)

    assert clocks(program) == [LATENCY + cost(nbytes)] * 2


def test_the_longer_direction_of_an_exchange_decides():
    def program(comm):
        mine, theirs = (Phantom(10), Phantom(100)) if comm.rank else (Phantom(100), Phantom(10))
        comm.sendrecv(mine, 1 - comm.rank, theirs, 1 - comm.rank)

    assert clocks(program) == [cost(100), LATENCY + cost(100)]


def test_data_costs_what_a_phantom_of_its_size_costs():
    def program(comm, x):
        other = 1 - comm.rank
        comm.sendrecv(x, other, x[:], other) if comm.rank < 2 else None
        comm.send(x, other) if comm.rank else comm.recv(x, other)

    times = [
        clocks(lambda comm, x=x: program(comm, x)) for x in (np.zeros(16, np.uint8), Phantom(16))
    ]
    assert times[0] == times[1]


# -- messages that share a port -------------------------------------------------------------


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("source", ["named", "named backwards", "ANY"])
def test_messages_to_one_rank_come_in_one_after_another(ranks, source):
    def program(comm):
        if comm.rank:
            comm.send(Phantom(10), 0)
            return
        order = range(comm.size - 1, 0, -1) if "back" in source else range(1, comm.size)
        for rank in order:
            comm.recv(Phantom(10), ANY if source == "ANY" else rank)

    last = LATENCY + (ranks - 1) * cost(10) if ranks > 1 else 0.0
    assert clocks(program, ranks) == [last] + [cost(10)] * (ranks - 1)


@pytest.mark.parametrize("ranks", RANKS)
def test_messages_from_one_rank_go_out_one_after_another(ranks):
    def program(comm):
        if comm.rank:
            comm.recv(Phantom(10), 0)
            return
        for request in [comm.isend(Phantom(10), rank) for rank in range(1, comm.size)]:
            request.wait()

    expected = [LATENCY + rank * cost(10) for rank in range(1, ranks)]
    assert clocks(program, ranks) == [(ranks - 1) * cost(10), *expected]


def test_a_gap_keeps_the_starts_of_messages_apart_beyond_their_bytes():
    def program(comm):
        for _ in range(3):
            if comm.rank == 0:
                comm.send(Phantom(10), 1)
            else:
                comm.recv(Phantom(10), 0)

    network = Uniform(LATENCY, 1 / PER_BYTE, gap=GAP)
    sent = 3 * cost(10) + 2 * GAP
    assert clocks(program, network=network) == [sent, sent + LATENCY]


STAR = Star(200, base_latency=LATENCY, bandwidth=1 / PER_BYTE)


@pytest.mark.parametrize("network", [PLAIN, STAR], ids=["ports", "links"])
def test_a_message_asked_for_late_came_in_while_the_port_was_idle(network):
    """Received in the reverse order of their arrival, messages that do not meet take no longer."""
    count = 200

    def program(comm):
        if comm.rank:
            comm.work(seconds=10 * comm.rank)
            comm.send(Phantom(2), 0)
            return
        for rank in range(comm.size - 1, 0, -1):
            comm.recv(Phantom(2), rank)

    last = 10 * (count - 1) + LATENCY + cost(2)
    assert clocks(program, count, network)[0] == pytest.approx(last, rel=1e-12)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 60)), max_size=12), st.randoms())
@settings(max_examples=200)
def test_messages_pass_a_port_without_overlap_and_without_needless_delay(sent, random):
    """Whatever the order of the receives: each message starts no earlier than its head is there,
    no two overlap, and time passes idle only while nobody's head is there."""
    order = list(range(1, len(sent) + 1))
    random.shuffle(order)

    def program(comm):
        if comm.rank:
            start, nbytes = sent[comm.rank - 1]
            comm.work(seconds=start)
            comm.send(Phantom(nbytes), 0)
            return
        for rank in order:
            comm.recv(Phantom(sent[rank - 1][1]), rank)

    time = clocks(program, len(sent) + 1)[0]
    heads = sorted((start + LATENCY, cost(nbytes)) for start, nbytes in sent)
    free = 0.0
    for head, seconds in heads:
        free = max(free, head) + seconds
    assert time >= free  # the order of arrival is the best there is
    alone = max([head + seconds for head, seconds in heads], default=0.0)
    assert time <= alone + sum(seconds for _, seconds in heads)


# -- meetings -------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", RANKS)
def test_barriers_and_splits_take_as_many_rounds_as_the_ranks_have_doublings(ranks):
    rounds = (ranks - 1).bit_length()
    assert clocks(lambda comm: comm.barrier(), ranks) == [rounds * LATENCY] * ranks
    assert clocks(lambda comm: comm.split(0), ranks) == [rounds * LATENCY] * ranks
    assert clocks(lambda comm: comm.background(len_of, ()).wait(), ranks) == (
        [rounds * LATENCY] * ranks
    )


def len_of(comm, x):
    return len(x)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_fence_of_shared_memory_takes_as_long_as_a_barrier(ranks):
    def program(comm):
        memory = comm.shared_memory(8)
        begun = comm.now()
        memory.fence()
        fence = comm.now() - begun
        comm.barrier()
        assert comm.now() - begun == 2 * fence

    network = TwoLevel(ranks, inside=PLAIN)
    rounds = (ranks - 1).bit_length()
    assert clocks(program, ranks, network) == [3 * rounds * LATENCY] * ranks


@pytest.mark.parametrize("ranks", RANKS)
def test_shared_memory_holds_what_was_written_by_that_time(ranks):
    def program(comm):
        (counter,) = comm.shared_memory(8).parts[0].view(np.int64)[None]
        found = []
        for _ in range(5):
            comm.work(
                seconds=LONG * (comm.size - comm.rank) + comm.rank
            )  # the last is the fastest
            found.append((comm.now(), int(counter[0])))
            counter[0] += 1
        return found

    results = simulate(program, ranks, network=TwoLevel(ranks)).results
    found = sorted(one for result in results for one in result)
    assert [count for _, count in found] == list(range(5 * ranks))


def test_nobody_leaves_a_barrier_before_the_last_has_come():
    def program(comm):
        comm.work(seconds=LONG * (comm.rank == 3))
        comm.barrier()

    times = clocks(program, 5)
    assert min(times) >= LONG
    assert max(times) <= LONG + 3 * LATENCY


# -- a rank's machine -----------------------------------------------------------------------


def test_work_and_reductions_are_charged_to_the_machine():
    def program(comm):
        comm.work(seconds=3.0, flops=8e9)
        comm.combine(Phantom(600), Phantom(600), out=Phantom(600))

    machine = Machine(flops=2e9, reduce_bandwidth=300)
    assert clocks(program, 1, machine=machine) == [3 + 4 + 2]
    assert clocks(program, 1, machine=Machine(flops=2e9)) == [3 + 4]


@pytest.mark.parametrize(
    ("flops", "nbytes", "expected"),
    [(0, 0, 3.0), (8e9, 0, 3 + 0.5 + 4), (8e9, 600, 3 + 0.5 + 4), (1e9, 600, 3 + 0.5 + 2)],
)
def test_work_on_a_device_takes_its_launch_and_the_longer_of_two(flops, nbytes, expected):
    def program(comm):
        comm.work(3.0, flops, nbytes)

    device = Roofline(flops=2e9, bandwidth=300, launch=0.5)
    assert clocks(program, 1, machine=device.machine) == [expected]
    late = Machine(flops=2e9, bandwidth=300, launch=0.5, stragglers={0: 3.0})
    assert clocks(program, 1, machine=late) == [3 * expected]
