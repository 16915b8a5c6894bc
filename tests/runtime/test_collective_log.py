"""Ranks that call different collectives are told, with their lines, on both grounds alike."""

import inspect
import linecache
import re
from contextlib import suppress
from itertools import chain

import numpy as np
import pytest

from ddl_runtime.core import collective_log
from ddl_runtime.core.collective_log import Collective, CollectiveLog, disagreement
from ddl_runtime.core.fault_tolerance import RankLost
from ddl_runtime.diagnosis.deadlock import CollectiveMismatch, Deadlock, RankFailed, Unreceived
from ddl_teach import launch, simulate
from ddl_teach.collectives import linear, recursive_doubling, registry, ring, tree
from ddl_teach.comm import collective

HERE = __file__.rpartition("/")[2]


def lines_of(program):
    """The lines of the program that its error must name."""
    lines, first = inspect.getsourcelines(program)
    return [first + i for i, line in enumerate(lines) if "# told" in line]


@collective
def send_nothing(comm, x):
    """A collective of a learner's own."""


def swaps(comm):
    x, y = np.ones(4), np.zeros(4)
    if comm.rank:
        recursive_doubling.allreduce(comm, x)  # told
        linear.broadcast(comm, y)
    else:
        linear.broadcast(comm, y)  # told
        recursive_doubling.allreduce(comm, x)


def skips_the_last(comm):
    tree.broadcast(comm, np.ones(4))
    if not comm.rank:
        send_nothing(comm, np.ones(4))  # told


def skips_the_first(comm):
    if comm.rank != 1:
        ring.allreduce(comm, np.ones(4))  # told
    ring.allreduce(comm, np.ones(8))  # told


def sizes_differ(comm):
    send_nothing(comm, np.ones(4 + comm.rank))  # told


def operations_differ(comm):
    recursive_doubling.allreduce(comm, np.ones(4), "max" if comm.rank else "sum")  # told


def leaves_a_message(comm):
    if not comm.rank:
        linear.broadcast(comm, np.ones(4))  # told


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize(
    "program", [swaps, skips_the_last, skips_the_first, sizes_differ, operations_differ,
                leaves_a_message], ids=lambda program: program.__name__,
)  # fmt: skip
def test_what_differs_is_told_with_the_lines(ground, program, size):
    with pytest.raises((CollectiveMismatch, Unreceived, Deadlock, RankFailed)) as caught:
        ground(program, size)
    _, told = str(caught.value).split("did not call the same collectives:")
    named = {int(line) for line in re.findall(rf"called .*at {HERE}:(\d+) in \w+\n", told)}
    assert named == set(lines_of(program))


def told_of_a_cell(code):
    """What ranks are told whose program is a cell's, the name of which all cells have."""
    source = f"def program(comm):\n    {code}\n"
    linecache.cache["cell [ ]"] = len(source), None, source.splitlines(keepends=True), "cell [ ]"
    names = {}
    exec(compile(source, "cell [ ]", "exec"), names)
    with pytest.raises(CollectiveMismatch) as caught:
        simulate(names["program"], 2)
    return str(caught.value)


def test_a_cell_that_has_the_name_of_an_earlier_one_is_told_with_its_own_line():
    first = "comm.collective('meet', 8 + comm.rank, None)"
    second = "comm.collective('meet', comm.rank + 8, None)"
    assert f"line 2 of cell [ ]: {first}\n" in told_of_a_cell(first)
    assert f"line 2 of cell [ ]: {second}\n" in told_of_a_cell(second)


@pytest.mark.parametrize("program", [swaps, operations_differ])
def test_no_message_need_fail(ground, program):
    with pytest.raises(CollectiveMismatch, match="All ranks returned"):
        ground(program, 2)


def call_in_this_order(comm, orders, on="all"):
    group = comm if on == "all" else comm.split(comm.rank // 2)
    for name, nbytes, op in orders[comm.rank]:
        with group.collective(name, nbytes, op):
            group.barrier()


ITS_LINE = r", at test_collective_log.py:\d+ in \w+"
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
    ground(call_in_this_order, 4, orders=same, on=on)
    with pytest.raises(CollectiveMismatch, match="not call the same collectives") as caught:
        ground(call_in_this_order, 4, orders=[*same[:3], [other, one]], on=on)
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
        ground(program, 3, calls=SWAPPED[what])
    length = SWAPPED[what][1][1]
    text = str(caught.value)
    assert "Before that, they did not call the same collectives:\n\n  rank 0 called " in text
    assert re.search(rf"of {8 * length} bytes \(sum\){ITS_LINE}\n  rank 1 called ", text)


def test_collectives_within_a_collective_are_its_own_affair(ground):
    def program(comm):
        with comm.collective("a fold", 8):
            for _ in range(comm.rank):
                with comm.collective("a step", 8):
                    pass

    ground(program, 3)


def test_a_rank_that_calls_fewer_collectives_is_told():
    called = [Collective("barrier", None, None)] * 2
    logs = [[CollectiveLog("all", list(called[:count]))] for count in (2, 2, 1)]
    assert "rank 0 called barrier\n  rank 2 called none\n\nas number 2" in disagreement(
        enumerate(logs), ended=True
    )
    assert disagreement(enumerate(logs), ended=False) == ""


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

    with pytest.raises(CollectiveMismatch, match="as number 1 on their") as caught:
        simulate(program, 2)
    assert told in str(caught.value)


def test_a_communicator_has_one_number_on_all_its_ranks(ground):
    def program(comm):
        comm.split(None if comm.rank == 1 else 0)
        made = [comm, *(comm.split(0) for _ in range(2)), comm.split(0).split(0)]
        comm.background(lambda place: made.append(place.split(0))).wait()
        comm.background(lambda place: made.append(place.split(0))).wait()
        return [one.context.number for one in made]

    results = ground(program, 3).results
    assert results[1:] == results[:-1]
    assert len(set(results[0])) == 6


def test_communicators_are_told_apart_in_whatever_order_a_rank_makes_them():
    logs = [[CollectiveLog(number) for number in order] for order in ("ab", "ba")]
    for log in chain(*logs):
        log.open(f"on {log.communicator}", None, None)
    assert disagreement(enumerate(logs), ended=True) == ""


def uneven(comm):
    rank, size = comm.rank, comm.size
    group = comm.split(rank % 2)
    for _ in range(1 + rank % 2):  # each group calls its own
        ring.allreduce(group, np.ones(4 + rank % 2))
    if rank == 0:
        mine = comm.subgroup([0])
        ring.allreduce(mine, np.ones(3))
    whole = np.empty(2 * size) if rank == 1 % size else None
    linear.gather(comm, np.ones(2), whole, 1 % size)
    linear.scatter(comm, whole, np.empty(2), 1 % size)
    line = comm.line()
    started = line.start(by_rank, np.ones(4))
    comm.background(in_a_group, np.ones(5)).wait()
    started.wait()
    comm.send(np.ones(rank), (rank + 1) % size) if rank else None
    comm.recv(np.empty(rank - 1), rank - 1) if rank > 1 else None
    comm.recv(np.empty(size - 1), size - 1) if not rank and size > 1 else None


def by_rank(comm, x):
    with comm.collective("what a line carries out", comm.rank):
        ring.allreduce(comm, x)


def in_a_group(comm, x):
    ring.allreduce(comm.split(0), x)


def test_what_may_differ_is_no_error(ground, ranks):
    ground(uneven, ranks)


def test_an_error_comes_first(ground):
    def program(comm):
        swaps(comm)
        if comm.rank:
            raise KeyError("mine")

    with pytest.raises(RankFailed, match="KeyError: 'mine'") as caught:
        ground(program, 2)
    assert caught.value.exception == "KeyError"
    assert "Before that, they did not call the same collectives" in str(caught.value)


def with_one_that_dies(comm):
    if comm.rank == 1:
        with comm.collective("before its death"):
            comm.die()
    with suppress(RankLost):  # until the death is noticed
        comm.recv(np.empty(1), 1)
    return comm.shrink().size


@pytest.mark.real
def test_where_a_rank_died_nothing_is_compared():
    assert launch(with_one_that_dies, 3, survivors=True, timeout=120).results == [2, None, 2]


def called(rank, calls, different=()):
    log = CollectiveLog("all")
    for number in range(1, calls + 1):
        with log.open("another" if number in different else "a step", 8, None):
            pass
    return rank, [log]


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(collective_log, "KEPT", 10)


@pytest.mark.parametrize(("others", "place"), [((95,), 95), ((99, 100), 99), ((), None)])
def test_a_long_program_keeps_its_last_collectives(few, others, place):
    logs = [called(0, 100), called(1, 100, others)]
    assert all(len(log.called) < 20 for _, (log,) in logs)
    assert (f"as number {place} " in disagreement(logs, ended=True)) == (place is not None)
    assert (f"as number {place} " in disagreement(logs, ended=False)) == (place is not None)


@pytest.mark.parametrize(
    ("calls", "different", "while_running"), [(100, (3,), True), (100, (3, 95), True),
    (40, (), False)],
)  # fmt: skip
def test_an_early_difference_is_told_without_its_line(few, calls, different, while_running):
    logs = [called(0, 100), called(1, calls, different)]
    said = "among the first 90 of their communicator"
    assert said in disagreement(logs, ended=True)
    logs = [called(0, 100), called(1, calls, different)]
    assert (said in disagreement(logs, ended=False)) == while_running
