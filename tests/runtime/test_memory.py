"""Memory as a virtual quantity: held, released, at its peak, and too much, on both grounds."""

import pickle

import numpy as np
import pytest

from ddl_runtime.pictures.memory import plot_memory
from ddl_teach import Phantom, simulate
from ddl_teach.comm import OutOfMemory, RankFailed

RANK_COUNTS = (1, 2, 3, 4, 5, 8)


def working(comm):
    """Weights to the end, one activation more than the rank's number, and a moment's room."""
    comm.hold(100, "weights")
    held = []
    for _ in range(comm.rank + 1):
        comm.work(seconds=1e-3)
        held.append(comm.hold(10, "activations"))
    with comm.hold(7, "room"):
        comm.work(seconds=1e-3)
    for each in held:
        each.release()
    comm.barrier()


def check(memory, ranks):
    for rank in range(ranks):
        count = rank + 1
        assert memory.peak(rank) == 107 + 10 * count
        assert memory.at_peak(rank) == {"weights": 100, "activations": 10 * count, "room": 7}
        assert memory.counts_at_peak(rank)["activations"] == (count, 10 * count)
        assert memory.at_end(rank) == {"weights": 100}
    assert memory.peak() == 107 + 10 * ranks


@pytest.mark.parametrize("ranks", RANK_COUNTS)
@pytest.mark.parametrize("threads", [False, True])
def test_simulated_ranks_hold_what_they_say(ranks, threads):
    run = simulate(working, ranks, threads=threads)
    check(run.memory, ranks)
    assert [time for time, *_ in run.memory.of(0)] == [0.0, 1e-3, 1e-3, 2e-3, 2e-3]


@pytest.mark.parametrize("ranks", RANK_COUNTS)
def test_real_ranks_count_the_same(real, ranks):
    run = real(working, ranks)
    check(run.memory, ranks)
    times, held = run.memory.curve(ranks - 1)
    assert times[0] > 0
    assert times[-1] < run.time
    assert held.max() == run.memory.peak(ranks - 1)


@pytest.mark.parametrize("ranks", [1, 3])
def test_nothing_is_counted_where_nothing_is_asked_for(real, ranks):
    for run in (simulate(working, ranks, trace=False), real(working, ranks, trace=False)):
        assert not run.memory
        assert run.memory.peak() == 0
    check(simulate(working, ranks, trace=False, memory=1e9).memory, ranks)
    check(real(working, ranks, trace=False, memory=1e9).memory, ranks)


def too_much(comm):
    comm.hold(100, "weights")
    for k in range(3):
        comm.work(seconds=1e-3 * (comm.rank + 1))
        comm.hold(10, "activations" if k % 2 == 0 else "layers")
    comm.barrier()


@pytest.mark.parametrize("ranks", RANK_COUNTS)
def test_a_rank_that_is_out_of_memory_says_what_it_holds(ranks):
    """The error is that of the rank which failed first in virtual time."""
    with pytest.raises(OutOfMemory) as caught:
        simulate(too_much, ranks, memory=125)
    shortage = caught.value.shortage
    assert (caught.value.rank, shortage.rank, shortage.time) == (0, 0, pytest.approx(3e-3))
    assert (shortage.asked, shortage.what, shortage.used) == (10, "activations", 120)
    assert shortage.held == {"weights": (1, 100), "activations": (1, 10), "layers": (1, 10)}
    assert str(caught.value).startswith("rank 0 is out of memory at 3 ms: weights (100 B), ")
    assert "What to try: hold less" in str(caught.value)
    assert "hold(10" in str(caught.value)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_real_rank_says_the_same(real, ranks):
    with pytest.raises(OutOfMemory) as caught:
        real(too_much, ranks, memory=125)
    assert caught.value.shortage.rank == caught.value.rank
    assert caught.value.shortage.used == 120
    assert caught.value.exception == "OverCapacity"
    check(real(working, ranks, memory=107 + 10 * ranks).memory, ranks)


def test_the_error_counts_what_is_of_one_kind():
    def program(comm):
        for _ in range(12):
            comm.hold(2**20, "activations")
        for _ in range(3):
            comm.hold(2**19, "gathered layers")

    with pytest.raises(OutOfMemory, match=r"12 activations \(12 MiB\), 2 gathered layers \(1 M"):
        simulate(program, 2, memory=13 * 2**20)


def test_the_errors_can_be_shipped():
    with pytest.raises(OutOfMemory) as caught:
        simulate(too_much, 1, memory=125)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    cause = pickle.loads(pickle.dumps(caught.value.__cause__))
    assert cause.shortage == caught.value.shortage


def test_a_program_may_catch_it_and_hold_less():
    def program(comm):
        try:
            comm.hold(200, "activations")
        except MemoryError:
            comm.hold(50, "activations")

    assert simulate(program, 2, memory=100).memory.at_peak(1) == {"activations": 50}


def released_twice(comm):
    held = comm.hold(3, "activations")
    held.release()
    held.release()


WRONG = {
    "below zero": (lambda comm: comm.hold(-1, "weights"), "bytes of weights must be at least 0"),
    "half a byte": (lambda comm: comm.hold(0.5, "weights"), "must be a whole number, not 0.5"),
    "no word": (lambda comm: comm.hold(3, None), "such as 'activations', not None"),
    "released twice": (released_twice, "rank 0 has released these activations already"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_holds_are_refused_in_the_same_words(real, wrong):
    program, words = WRONG[wrong]
    for run in (simulate, real):
        with pytest.raises(RankFailed, match=words):
            run(program, 1)


@pytest.mark.parametrize("trace", [False, True])
def test_a_hold_below_zero_is_refused_whether_counted_or_not(trace):
    with pytest.raises(RankFailed, match="at least 0"):
        simulate(WRONG["below zero"][0], 1, trace=trace)


@pytest.mark.parametrize(
    ("memory", "words"),
    [(-1, "zero or more"), ("1 GB", "not '1 GB'"), (True, "not True"), (float("nan"), "zero or")],
)
def test_a_capacity_is_a_number_of_bytes(pool, memory, words):
    for run in (simulate, pool.run):
        with pytest.raises((TypeError, ValueError), match=words):
            run(working, 1, memory=memory)


def test_released_in_a_with_and_before_its_end():
    def program(comm):
        with comm.hold(np.int64(5), "room") as room:
            room.release()
        return comm.hold(0, "nothing").nbytes

    run = simulate(program, 1)
    assert run.results == [0]
    assert run.memory.at_end(0) == {}


def test_functions_in_the_background_hold_for_their_rank():
    def beside(comm):
        with comm.hold(5, "buffers"):
            comm.sendrecv(
                Phantom(8), (comm.rank + 1) % comm.size, Phantom(8), (comm.rank - 1) % comm.size
            )

    def program(comm):
        with comm.hold(2, "activations"):
            comm.background(beside).wait()
        comm.split(comm.rank % 2).hold(1, "states")

    run = simulate(program, 4)
    assert [run.memory.peak(rank) for rank in range(4)] == [7] * 4
    assert run.memory.at_end(3) == {"states": 1}


@pytest.mark.parametrize("ranks", [1, 4, 40])
def test_it_is_drawn_under_the_timeline(ranks):
    run = simulate(working, ranks)
    above, below = run.plot().axes
    assert above.get_xlim() == below.get_xlim()
    words = f"At most {107 + 10 * ranks} B, on rank {ranks - 1}: "
    assert below.get_title(loc="left").startswith(words)
    assert below.get_ylabel() == "held (B)"
    assert len(below.lines) == (ranks if ranks <= 4 else 1)


def test_a_picture_of_some_ranks_with_their_capacity():
    track = simulate(working, 4).memory
    [ax] = track.plot(ranks=[1, 2], capacity=200).axes
    assert [line.get_label() for line in ax.lines[:2]] == ["rank 1", "rank 2"]
    assert list(ax.lines[2].get_ydata()) == [200, 200]
    nothing = simulate(lambda comm: None, 2).memory.plot()
    assert nothing.axes[0].get_title(loc="left") == "Nothing was held"
    with pytest.raises(ValueError, match="rank 9 is not among the ranks 0 to 3"):
        plot_memory(track, ranks=[9])
