"""Splits, barriers and background functions, on both grounds."""

import threading
import time

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_teach import ANY, simulate


def exchange(comm, value, tag=0):
    """This rank's value to the right; returns the left neighbour's."""
    x, y = np.array([value]), np.zeros(1, int)
    comm.sendrecv(x, (comm.rank + 1) % comm.size, y, (comm.rank - 1) % comm.size, tag)
    return int(y[0])


# -- split ----------------------------------------------------------------------------------


def split_in_many_ways(comm):
    world = comm.rank
    by_parity = comm.split(world % 2)
    assert by_parity.rank == world // 2
    assert by_parity.size == (comm.size + 1 - world % 2) // 2
    assert exchange(by_parity, world) == (
        world - 2 if world > 1 else world + 2 * by_parity.size - 2
    )

    backwards = comm.split(7, key=-world)
    assert (backwards.rank, backwards.size) == (comm.size - 1 - world, comm.size)
    assert exchange(backwards, world) == (world + 1) % comm.size

    equal_keys = comm.split(world > 1, key=5)
    assert equal_keys.rank == (world - 2 if world > 1 else world)

    alone = comm.split(world, key=world % 3)
    assert (alone.rank, alone.size) == (0, 1)
    alone.barrier()

    without_last = comm.split(None if world == comm.size - 1 else 2**31 - 1)
    assert (without_last is None) == (world == comm.size - 1)
    if without_last is not None:
        assert without_last.size == comm.size - 1
        exchange(without_last, world)
    assert comm.split(None) is None
    assert comm.split(np.int64(3), np.int16(0)).size == comm.size


def test_split_forms_groups_by_colour_ordered_by_key_then_rank(ground, ranks):
    ground(split_in_many_ways, ranks)


def nested(comm, depth):
    """Halves of halves; returns the sizes that each level's neighbours have told."""
    found = []
    for _ in range(depth):
        found.append(exchange(comm, comm.size))
        comm = comm.split(comm.rank < comm.size / 2, key=-comm.rank)
    return found, comm.size


def test_groups_split_again(ground, ranks):
    run = ground(nested, ranks, depth=4)
    assert {size for _, size in run.results} == {1}
    for found, _ in run.results:
        assert found[0] == ranks
        assert found == sorted(found, reverse=True)


def many_groups_at_once(comm):
    """The same peers and tags on every communicator: nothing may stray from one to another."""
    groups = [comm, comm.split(0), comm.split(0), comm.split(0, key=comm.rank)]
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    got = [np.zeros(1, int) for _ in groups]
    requests = [group.irecv(x, left) for group, x in zip(groups, got, strict=True)]
    for number, group in reversed(list(enumerate(groups))):
        group.send(np.array([number]), right)
    for request in reversed(requests):
        request.wait()
    assert [int(x[0]) for x in got] == [0, 1, 2, 3]
    x = np.zeros(1, int)
    for number, group in enumerate(groups):  # ANY keeps to its communicator too
        sending = group.isend(np.array([number]), right, tag=1)
        if number % 2:
            groups[number - 1].recv(x, ANY, tag=1)
            assert x[0] == number - 1
            group.recv(x, ANY, tag=1)
            assert x[0] == number
        sending.wait()


def test_messages_of_different_communicators_never_meet(ground, ranks):
    ground(many_groups_at_once, ranks)


def wrong_splits(comm):
    texts = []
    for colour, key in [(1.0, 0), ("red", 0), (-1, 0), (2**31, 0), (0, "first"), (0, 2**40)]:
        try:
            comm.split(colour, key)
        except (TypeError, ValueError) as error:
            texts.append(str(error))
    comm.barrier()
    return texts


def test_wrong_colours_and_keys_are_refused_before_anybody_waits(ground):
    for texts in ground(wrong_splits, 3).results:
        assert len(texts) == 6
        assert all(text.startswith("split: ") for text in texts)
        assert "red" in texts[1]


# -- barrier --------------------------------------------------------------------------------


def late_arrivals(comm, rounds):
    times = []
    for number in range(rounds):
        comm.work(seconds=0.005 * ((comm.rank + number) % comm.size))
        entered = comm.now()
        comm.barrier()
        times.append((entered, comm.now()))
    return times


def test_nobody_leaves_a_barrier_before_everybody_has_come(ground, ranks):
    results = ground(late_arrivals, ranks, rounds=ranks).results
    for one_round in zip(*results, strict=True):
        assert max(entered for entered, _ in one_round) <= min(left for _, left in one_round)


# -- background -----------------------------------------------------------------------------


def beside_each_other(comm):
    """Background and program exchange with the same peers and tags."""
    out = {}

    def beside(other, name, rounds):
        for number in range(rounds):
            out[name] = exchange(other, 1000 * (number + 1) + other.rank)
            other.barrier()

    requests = [comm.background(beside, name, 10 + name) for name in range(3)]
    for number in range(20):
        assert exchange(comm, number * 10 + comm.rank) % 10 == (comm.rank - 1) % comm.size
        comm.barrier()
    assert [request.wait() for request in requests] == [comm.rank] * 3
    left = (comm.rank - 1) % comm.size
    assert out == {name: 1000 * (10 + name) + left for name in range(3)}


@pytest.mark.sampled(2)
def test_background_messages_meet_no_others(ground, ranks):
    ground(beside_each_other, ranks)


def splits_beside_splits(comm):
    def beside(other):
        for _ in range(10):
            half = other.split(other.rank % 2)
            exchange(half, 1)
            half.barrier()

    request = comm.background(beside)
    for _ in range(10):
        half = comm.split(comm.rank % 2)
        exchange(half, 2)
        half.barrier()
    request.wait()


@pytest.mark.sampled(2)
def test_splits_and_barriers_may_run_beside_each_other(ground, ranks):
    ground(splits_beside_splits, ranks)


def background_in_background(comm, out):
    def inner(other, value):
        out.append(exchange(other, value + other.rank))

    def outer(other):
        request = other.background(inner, 100)
        again = other.background(inner, 200)
        out.append(exchange(other, 300 + other.rank))
        request.wait()
        again.wait()

    request = comm.background(outer)
    out.append(exchange(comm, 400 + comm.rank))
    request.wait()
    return sorted(out)


def test_background_functions_may_start_their_own(ground, ranks):
    run = ground(background_in_background, ranks, out=[])
    for rank, found in enumerate(run.results):
        assert found == [value + (rank - 1) % ranks for value in (100, 200, 300, 400)]


def more_than_there_is_room_for(comm):
    total = []

    def beside(other, number):
        total.append(exchange(other, number))

    requests = [comm.background(beside, number) for number in range(40)]
    done = {comm.wait_any(requests) for _ in range(5)}
    assert len(done) == 5
    assert all(requests[number].waited for number in done)
    for request in requests:
        request.wait()
    return sorted(total)


def test_any_number_of_background_functions_in_a_row(ground):
    assert ground(more_than_there_is_room_for, 4).results == [list(range(40))] * 4


def not_waited_for(comm, out):
    comm.background(lambda other: out.append(exchange(other, other.rank)))
    return out  # the run ends when the function does


def test_a_program_ends_when_its_background_functions_have(real):
    for rank, out in enumerate(real(not_waited_for, 4, out=[]).results):
        assert out == [(rank - 1) % 4]


def raises_beside(comm, waits):
    def beside(other):
        if other.rank == 1:
            raise KeyError("lost")
        other.recv(np.zeros(1), 1)

    request = comm.background(beside)
    if waits:
        request.wait()
    comm.recv(np.zeros(1), (comm.rank + 1) % comm.size)


@pytest.mark.parametrize("waits", [True, False], ids=["waited for", "not waited for"])
def test_an_exception_in_the_background_is_the_ranks(ground, waits):
    with pytest.raises(RankFailed, match=r"rank 1 raised KeyError: 'lost'") as caught:
        ground(raises_beside, 3, waits=waits)
    assert "in beside" in str(caught.value)
    assert caught.value.rank == 1


def the_wrong_communicator(comm):
    def beside(other):
        comm.recv(np.zeros(1), (comm.rank - 1) % comm.size)

    comm.background(beside).wait()


def test_simulated_background_functions_must_use_their_own_communicator():

    with pytest.raises(RankFailed, match="must use the communicator that it is given"):
        simulate(the_wrong_communicator, 3)


def left_by_a_failure(comm, seconds):
    """One program fails while a background function works on; the next must not notice it."""
    if seconds:
        comm.background(lambda other: time.sleep(seconds))
        raise ValueError("done")
    threads = threading.active_count()
    result = exchange(comm, comm.rank)
    time.sleep(0.3)  # longer than a wait that is reported
    comm.barrier()
    return result, threads


def test_a_function_left_running_does_not_disturb_the_next_program(real):
    with pytest.raises(RankFailed, match="done"):
        real(left_by_a_failure, 4, seconds=0.4)
    results = real(left_by_a_failure, 4, seconds=0).results
    assert [value for value, _ in results] == [3, 0, 1, 2]
