"""A program that does not end: which rank does what, and what to do about it."""

import contextlib
import os
import signal
import threading
import time

import pytest

from ddl_runtime.diagnosis.deadlock import TimedOut
from ddl_runtime.simulator.time_limit import LOOK_EVERY, NAME, SimulationIsLate
from ddl_teach import Ranks, simulate

SOON = 0.3  # seconds


def waits_and_loops(comm):
    if comm.rank == 2:
        while True:
            pass
    comm.barrier()


def works_for_ever(comm):
    while True:
        comm.work(seconds=1.0)


def waits_for_each_other_for_ever(comm):
    while True:
        comm.barrier()


def catches_everything(comm):
    for _ in range(2):
        with contextlib.suppress(BaseException):
            works_for_ever(comm)


ENDLESS = [waits_and_loops, works_for_ever, waits_for_each_other_for_ever]


@pytest.mark.parametrize("threads", [False, True], ids=["greenlets", "threads"])
@pytest.mark.parametrize("program", ENDLESS)
@pytest.mark.sampled(2)
def test_a_simulation_without_end_is_stopped(program, threads):
    begun = time.monotonic()
    with pytest.raises(TimedOut, match=r"4 of 4 ranks had not returned") as caught:
        simulate(program, 4, timeout=SOON, threads=threads, trace=False)
    assert begun + SOON <= time.monotonic()
    assert "test_late.py" in str(caught.value)
    assert "find the loop that does not end" in str(caught.value)


def test_of_a_simulation_that_is_late_each_wait_is_shown():
    with pytest.raises(TimedOut) as caught:
        simulate(waits_and_loops, 3, timeout=SOON)
    shown = str(caught.value)
    assert shown.count("waiting in barrier()\n       | at test_late.py:") == 2
    assert "  rank 2  at test_late.py:" in shown


def test_the_rank_that_runs_is_named_though_it_is_far_down():
    def program(comm):
        if comm.rank == 300:
            works_for_ever(comm)
        comm.barrier()

    with pytest.raises(TimedOut, match=r"Rank 300 was at test_late\.py:\d+ in works_for_ever"):
        simulate(program, 400, timeout=SOON, trace=False)


def test_who_catches_everything_is_asked_again():
    simulate(catches_everything, 1, timeout=SOON, trace=False)


def test_a_simulation_that_ends_in_time_leaves_nothing_behind():
    assert simulate(lambda comm: comm.rank, 3, timeout=SOON).results == [0, 1, 2]
    try:
        time.sleep(SOON + 3 * LOOK_EVERY)
    except SimulationIsLate:
        pytest.fail("it was raised after the end")
    assert [thread.name for thread in threading.enumerate()].count(NAME) == 1


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_time_limit_is_a_positive_number(timeout):
    with pytest.raises(ValueError, match="positive number of seconds"):
        simulate(lambda comm: None, 1, timeout=timeout)


def test_more_ranks_than_fit_into_memory_are_refused_at_once():
    with pytest.raises(ValueError, match=r"10,000,000 simulated ranks would take about 30 GB"):
        simulate(lambda comm: None, 10**7)


# -- real ranks -----------------------------------------------------------------------------


def freezes(comm):
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    comm.barrier()


def never_ends(comm):
    while True:
        time.sleep(0.01)


def waits_for_what_never_ends(comm):
    comm.background(never_ends).wait()


@pytest.mark.real
def test_a_frozen_rank_is_named():
    with Ranks(2) as ranks, pytest.raises(TimedOut) as caught:
        ranks.run(freezes, timeout=3)
    assert caught.value.frozen == [1]
    assert "rank 1  is frozen: something has stopped its process" in str(caught.value)
    assert "find the loop" not in str(caught.value)


@pytest.mark.real
@pytest.mark.filterwarnings("ignore:the program has changed the process")
def test_a_background_function_without_end_is_named():
    with Ranks(2) as ranks, pytest.raises(TimedOut) as caught:
        ranks.run(waits_for_what_never_ends, timeout=3)
    assert caught.value.background == [0, 1]
    assert "and in the background at test_late.py" in str(caught.value)
    assert "comm.background has not returned" in str(caught.value)
