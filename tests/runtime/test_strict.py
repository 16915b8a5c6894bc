"""Strict ranks refuse what works by luck, on both grounds alike."""

import re
from functools import partial
from inspect import signature

import numpy as np
import pytest

from ddl_runtime.core.fault_tolerance import RankLost
from ddl_runtime.core.watch import Collective, CollectiveLog, Watch, disagreement
from ddl_runtime.diagnosis.deadlock import CollectiveMismatch, Deadlock, RankFailed, Unreceived
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_runtime.topologies.shared_links import Star
from ddl_teach import simulate
from ddl_teach.collectives import linear, registry, ring, tree
from ddl_teach.comm import collective


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


def call_in_this_order(comm, orders, on="all"):
    group = comm if on == "all" else comm.split(comm.rank // 2)
    for name, nbytes, op in orders[comm.rank]:
        with group.collective(name, nbytes, op):
            group.barrier()


ITS_LINE = r", at test_strict.py:\d+ in \w+"
DIFFERENT = {
    "name": [("reduce", 8, "sum"), ("broadcast", 8, "sum")],
    "bytes": [("reduce", 8, "sum"), ("reduce", 16, "sum")],
    "operation": [("reduce", 8, "sum"), ("reduce", 8, "max")],
}


@pytest.mark.parametrize("on", ["all", "group"])
@pytest.mark.parametrize("what", DIFFERENT)
@pytest.mark.sampled(2)
def test_ranks_that_call_collectives_in_another_order_are_told(ground, what, on):
    one, other = DIFFERENT[what]
    same = [[one, other]] * 4
    ground(call_in_this_order, 4, orders=same, on=on, strict=True)
    ground(call_in_this_order, 4, orders=[*same[:3], [other, one]], on=on)
    with pytest.raises(CollectiveMismatch, match="not call the same collectives") as caught:
        ground(call_in_this_order, 4, orders=[*same[:3], [other, one]], on=on, strict=True)
    known = 0 if on == "all" else 2
    first, second = (re.escape(str(Collective(*each))) for each in (one, other))
    said = rf"rank {known} called {first}{ITS_LINE}\n  rank 3 called {second}{ITS_LINE}\n"
    assert re.search(said, str(caught.value))
    assert caught.value.run.ranks == 4


SWAPPED = {
    "lengths": [("ring", 30), ("ring", 60)],
    "algorithms": [("ring", 30), ("tree", 30)],
}


@pytest.mark.parametrize("what", SWAPPED)
def test_collectives_that_fail_because_they_differ_are_told(ground, what):
    def program(comm, calls):
        for name, length in calls if comm.rank else reversed(calls):
            registry.get(name).allreduce(comm, np.zeros(length))

    with pytest.raises((Deadlock, RankFailed)) as caught:
        ground(program, 3, calls=SWAPPED[what], strict=True)
    length = SWAPPED[what][1][1]
    text = str(caught.value)
    assert "Before that, they did not call the same collectives:\n\n  rank 0 called " in text
    assert re.search(rf"of {8 * length} bytes \(sum\){ITS_LINE}\n  rank 1 called ", text)
    with pytest.raises((Deadlock, RankFailed)) as caught:
        ground(program, 3, calls=SWAPPED[what])
    assert "Before that" not in str(caught.value)


def test_collectives_within_a_collective_are_its_own_affair(ground):
    def program(comm):
        with comm.collective("a fold", 8):
            for _ in range(comm.rank):
                with comm.collective("a step", 8):
                    pass

    ground(program, 3, strict=True)


def test_a_rank_that_calls_fewer_collectives_is_told():
    called = [Collective("barrier", None, None)] * 2
    logs = [[CollectiveLog("all", list(called[:count]))] for count in (2, 2, 1)]
    assert "rank 0 called barrier\n  rank 2 called none\n\nas number 2" in disagreement(
        enumerate(logs), ended=True
    )
    assert disagreement(enumerate(logs), ended=False) == ""


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


@collective
def send_nothing(comm, x):
    """A collective of a learner's own."""


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda comm, x, odd: ring.allreduce(comm, x, "max" if odd else "sum"), "(max)"),
        (lambda comm, x, odd: ring.allreduce(comm, x, op="max" if odd else "sum"), "(max)"),
        (lambda comm, x, odd: (linear if odd else tree).reduce(comm, x), "linear.reduce of 64"),
        (lambda comm, x, odd: send_nothing(comm, x[:4] if odd else x), "of 32 bytes"),
    ],
    ids=["operation", "operation by name", "algorithm", "bytes"],
)
def test_the_library_s_own_collectives_are_compared(call, told):
    def program(comm):
        call(comm, np.zeros(8), odd=comm.rank == 1)

    simulate(program, 2)
    with pytest.raises(CollectiveMismatch, match="as number 1 on their") as caught:
        simulate(program, 2, strict=True)
    assert told in str(caught.value)


def test_what_was_sent_must_arrive_though_nobody_waits_for_it(ground):
    def program(comm):
        comm.isend(np.zeros(3), ends(comm)[1])

    # Real ranks wait for it at their end, simulated ones look what was left.
    with pytest.raises((Deadlock, Unreceived), match=r"24 bytes"):
        ground(program, 3, strict=True)


def test_a_communicator_has_one_number_on_all_its_ranks(ground):
    def program(comm):
        comm.split(None if comm.rank == 1 else 0)
        made = [comm, *(comm.split(0) for _ in range(2)), comm.split(0).split(0)]
        comm.background(lambda place: made.append(place.split(0))).wait()
        comm.background(lambda place: made.append(place.split(0))).wait()
        return [one.context.number for one in made]

    results = ground(program, 3, strict=True).results
    assert results[1:] == results[:-1]
    assert len(set(results[0])) == 6


def test_communicators_are_told_apart_in_whatever_order_a_rank_makes_them():
    watches = [Watch(), Watch()]
    for watch, order in zip(watches, ("ab", "ba"), strict=True):
        for number in order:
            watch.log(number).open(f"on {number}", None, None)
    logs = [watch.logs for watch in watches]
    assert disagreement(enumerate(logs), ended=True) == ""


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
