"""Strict ranks refuse what works by luck, on both grounds alike."""

import random
from functools import partial
from inspect import signature

import numpy as np
import pytest

from ddl_runtime.core.fault_tolerance import RankLost
from ddl_runtime.diagnosis.deadlock import Deadlock, RankFailed, Unreceived
from ddl_runtime.topologies.point_to_point import TwoLevel, Uniform
from ddl_runtime.topologies.shared_links import Star
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import registry


def ends(comm):
    """The ranks before and after this one."""
    return (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size


def send_first(comm, length):
    before, after = ends(comm)
    x = np.zeros(length)
    comm.send(x, after)
    comm.recv(x, before)


@pytest.mark.parametrize("length", [0, 1, 100_000])
def test_a_send_waits_for_its_receive_however_short(ground, length):
    with pytest.raises(Deadlock, match="3 ranks wait for each other in a ring"):
        ground(send_first, 3, length=length, strict=True)


def test_sends_that_wait_need_no_more_than_a_receive_that_was_begun(ground):
    def program(comm):
        before, after = ends(comm)
        x, y = np.full(3, comm.rank), np.empty(3, int)
        arriving = comm.irecv(y, before)
        comm.send(x, after)
        return arriving.wait(), y.tolist()

    run = ground(program, 3, strict=True)
    assert run.results == [(rank, [rank] * 3) for rank in (2, 0, 1)]


def change_what_is_sent(comm, array, wait):
    x = array
    before, after = ends(comm)
    y = np.empty(4)
    arriving = comm.irecv(y, before)
    sending = comm.isend(x, after)
    x[2] += 1
    arriving.wait()
    if wait == "wait":
        sending.wait()
    elif wait == "wait_any":
        comm.wait_any([sending])


@pytest.mark.parametrize("wait", ["wait", "wait_any", "never"])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_what_is_sent_must_not_change_before_the_wait(ground, wait, kind):
    array = np.ones(4)
    if kind == "torch":
        array = pytest.importorskip("torch").ones(4, dtype=pytest.importorskip("torch").float64)
    with pytest.raises(RankFailed, match=r"isend\(to=.*changed before its wait") as caught:
        ground(change_what_is_sent, 2, array=array, wait=wait, strict=True)
    assert caught.value.exception == "UnsafeBuffer"


def test_it_may_change_after_the_wait_and_be_sent_to_many(ground):
    def program(comm):
        x, parts = np.full(4, comm.rank), np.empty((comm.size, 4), int)
        arriving = [comm.irecv(part, rank) for rank, part in enumerate(parts)]
        leaving = [comm.isend(x, to) for to in range(comm.size)]
        for _ in leaving:
            comm.wait_any(leaving)
        x += 100
        for request in arriving:
            request.wait()
        return parts[:, 0].tolist()

    assert ground(program, 4, strict=True).results == [[0, 1, 2, 3]] * 4


def receive_over_itself(comm, x, y):
    before, after = ends(comm)
    comm.sendrecv(x, after, y, before)


def receive_over_what_is_sent(comm, x, y):
    before, after = ends(comm)
    sending = comm.isend(x, after)
    comm.recv(y, before)
    sending.wait()


def receive_twice(comm, x, y):
    before, _ = ends(comm)
    for request in [comm.irecv(x, before, 1), comm.irecv(y, before, 2)]:
        request.wait()


def send_what_is_received(comm, x, y):
    before, after = ends(comm)
    arriving = comm.irecv(x, before)
    comm.send(y, after)
    arriving.wait()


@pytest.mark.parametrize(
    "program",
    [receive_over_itself, receive_over_what_is_sent, receive_twice, send_what_is_received],
    ids=lambda program: program.__name__,
)
def test_memory_that_is_received_into_belongs_to_one_message(ground, program):
    def on_parts(comm, second):
        memory = np.zeros(10)
        program(comm, memory[:5], memory[second : second + 5])

    with pytest.raises(RankFailed, match=r"shares? memory") as caught:
        ground(on_parts, 2, second=4, strict=True)
    assert caught.value.exception == "UnsafeBuffer"
    if program is not receive_twice:
        ground(on_parts, 2, second=5, strict=True)


def test_a_receive_that_was_begun_is_waited_for(ground):
    def program(comm):
        before, after = ends(comm)
        comm.irecv(np.empty(5), before)
        comm.send(np.zeros(5), after)

    with pytest.raises(RankFailed, match=r"without a wait\(\) for irecv.* in program") as caught:
        ground(program, 2, strict=True)
    assert caught.value.exception == "NotWaitedFor"
    assert "Traceback" not in str(caught.value)


def test_functions_in_the_background_may_still_wait(ground):
    def in_background(comm, y):
        before, after = ends(comm)
        arriving = comm.irecv(y, before)
        comm.send(np.full(5, comm.rank), after)
        arriving.wait()

    def program(comm):
        y = np.empty(5, int)
        comm.background(in_background, y)
        return y

    run = ground(program, 3, strict=True)
    assert [y[0] for y in run.results] == [2, 0, 1]


@pytest.mark.parametrize("algorithm", sorted({*registry.names("allreduce")} - {"native"}))
@pytest.mark.sampled(6)
def test_every_allreduce_needs_no_luck(request, ground, ranks, algorithm):
    def program(comm, algorithm):
        x = np.arange(1000.0) + comm.rank
        registry.get(algorithm).allreduce(comm, x)
        return x[0]

    plain = ground(program, ranks, algorithm=algorithm)
    strict = ground(program, ranks, algorithm=algorithm, strict=True)
    assert strict.results == plain.results
    # Two trees go on with what comes first, so on real ranks messages may leave in another order.
    is_real = request.node.callspec.params["ground"] == "real"
    ordered = partial(sorted, key=repr) if is_real else list
    in_strict, in_plain = (
        [ordered(book.messages) for book in run.ledger] for run in (strict, plain)
    )
    assert in_strict == in_plain


OFFERED = [
    (name, algorithm)
    for name in registry.COLLECTIVES
    for algorithm in registry.names(name)
    if algorithm != "native"
]


@pytest.mark.parametrize("network", [Uniform(), Star(8)], ids=["ports", "shared links"])
@pytest.mark.parametrize("size", [5, 8])
@pytest.mark.parametrize(("name", "algorithm"), OFFERED)
@pytest.mark.sampled(3)
def test_strict_ranks_take_the_same_virtual_time(network, size, name, algorithm):
    """A rank that only sends may leave later; the last leaves when it did."""
    function = registry.function(algorithm, name)
    lengths = {"x": 1000 * size}
    if "out" in signature(function).parameters:
        lengths["out"] = {"allgather": size, "gather": size, "scatter": 1 / size}.get(name, 1)
        lengths["out"] = int(lengths["out"] * lengths["x"])

    def program(comm):
        arrays = {given: np.ones(length) for given, length in lengths.items()}
        function(comm, **{} if name == "barrier" else arrays)

    plain, strict = (simulate(program, size, network=network, strict=one) for one in (False, True))
    assert strict.time == pytest.approx(plain.time, rel=1e-12)
    assert strict.time > 0


def test_what_was_sent_must_arrive_though_nobody_waits_for_it(ground):
    def program(comm):
        comm.isend(np.zeros(3), ends(comm)[1])

    # Real ranks wait for it at their end, simulated ones look what was left.
    with pytest.raises((Deadlock, Unreceived), match=r"24 bytes"):
        ground(program, 3, strict=True)


def test_where_ranks_die_the_others_owe_nothing():
    def program(comm):
        if comm.rank == 1:
            comm.die()
        comm.irecv(np.zeros(1), 1)
        with pytest.raises(RankLost):
            comm.recv(np.zeros(1), 1)
        living = comm.shrink()
        with living.collective("all who live"):
            living.barrier()
        return living.size

    assert simulate(program, 3, strict=True).results == [2, None, 2]


# -- phantoms take a short way ---------------------------------------------------------------


def swaps(comm, make, seed):
    """Messages of the same bytes, among them such as meet another verb; when each has ended."""
    dice, own, times = random.Random(seed), random.Random(f"{seed} {comm.rank}"), []
    for _ in range(20):
        distance, nbytes = dice.randrange(comm.size), dice.choice((1, 1000, 100_000))
        to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        x, y = make(nbytes), make(nbytes)
        comm.work(1e-5 * own.random())
        if dice.random() < 0.3 and comm.rank % 2:
            arriving = comm.irecv(y, source)
            comm.send(x, to)
            arriving.wait()
        else:
            comm.sendrecv(x, to, y, source)
        times.append(comm.now())
    return times


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("network", [Uniform(), TwoLevel(3), Star(8)], ids=repr)
@pytest.mark.sampled(6)
def test_phantoms_end_when_arrays_of_as_many_bytes_do(network, seed):
    given = {"network": network, "strict": True, "seed": seed}
    phantoms = simulate(swaps, 3 + seed % 4, make=Phantom, **given)
    arrays = simulate(swaps, 3 + seed % 4, make=partial(np.zeros, dtype=np.uint8), **given)
    assert phantoms.results == arrays.results
    assert phantoms.timeline.spans == arrays.timeline.spans
    assert [book.messages for book in phantoms.ledger] == [book.messages for book in arrays.ledger]


@pytest.mark.parametrize("make", [Phantom, np.zeros], ids=["phantoms", "arrays"])
def test_a_strict_sendrecv_waits_until_its_message_is_asked_for(make):
    def program(comm):
        if comm.rank == 0:
            for _ in range(3):
                comm.sendrecv(make(80), 1, make(80), 1)
        else:
            comm.recv(make(80), 0)
            for _ in range(3):
                comm.send(make(80), 0)
            comm.recv(make(80), 0)

    with pytest.raises(Deadlock, match=r"rank 0  send\(to=1"):
        simulate(program, 2, strict=True)
