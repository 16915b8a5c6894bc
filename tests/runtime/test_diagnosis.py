"""Why a program could not go on, as data: a judge, a grader or a notebook reads no words."""

import pickle

import numpy as np
import pytest

from ddl_measure.experiments.pipelines import timed
from ddl_runtime.diagnosis.deadlock import (
    Deadlock,
    DiagnosedError,
    RankFailed,
    Unreceived,
    tell_raised,
)
from ddl_runtime.diagnosis.waits import Lost, Mismatch, Unasked
from ddl_teach import ANY, simulate
from ddl_teach.networks.pipelines.cells import written


@pytest.fixture(params=["simulated", "real"])
def ground(request, real):
    return simulate if request.param == "simulated" else real


def everybody_receives(comm):
    comm.recv(np.zeros(3), (comm.rank + 1) % comm.size, tag=comm.rank)


def other_tag(comm):
    if comm.rank == 0:
        comm.send(np.zeros(3), 1, tag=7)
    else:
        comm.recv(np.zeros(3), 0, tag=8)


def begun_and_forgotten(comm):
    if comm.rank == 1:
        comm.isend(np.zeros(3), 0, tag=5)


def too_long(comm):
    if comm.rank == 1:
        comm.send(np.zeros(4), 0, tag=5)
    else:
        comm.recv(np.zeros(3), 1, tag=5)


def other_type(comm):
    if comm.rank == 1:
        comm.send(np.zeros(3, np.float32), 0)
    else:
        comm.recv(np.zeros(3), 1)


def past_the_end(comm):
    comm.send(np.zeros(3), comm.size)


def on_purpose(comm):
    raise LookupError("on purpose: nothing")


def server(comm):
    """Rank 0 answers nobody."""
    if comm.rank == 0:
        while True:
            comm.recv(np.zeros(3), ANY)
    comm.send(np.zeros(3), 0)
    comm.recv(np.zeros(3), 0)


def for_a_purpose(comm):
    request = comm.irecv(np.zeros(3), (comm.rank + 1) % comm.size)
    request.purpose = f"for supper {comm.rank}"
    (comm.wait_any([request]) if comm.rank else request.wait())


def failure(ground, program, ranks, expected):
    """What it raises, and the same after a journey in a pickle."""
    with pytest.raises(expected) as caught:
        ground(program, ranks)
    error = caught.value
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    return error, arrived


def test_a_deadlock_says_who_waits_for_whom_with_which_tag(ground):
    for deadlock in failure(ground, everybody_receives, 3, Deadlock):
        told = [(wait.rank, wait.verb, wait.peers, wait.tag) for wait in deadlock.waits]
        assert told == [(0, "recv", (1,), 0), (1, "recv", (2,), 1), (2, "recv", (0,), 2)]
        assert sorted(deadlock.cycle) == [0, 1, 2]
        assert not deadlock.unasked


def test_a_server_that_waits_for_any_rank_is_in_no_ring(ground):
    for deadlock in failure(ground, server, 4, Deadlock):
        assert deadlock.cycle == []
        assert [wait.anyone for wait in deadlock.waits] == [True, False, False, False]
        assert "waits for any of ranks 1, 2, 3" in str(deadlock)
        assert "in a ring" not in str(deadlock)
        assert "sendrecv" not in str(deadlock)


def test_what_a_message_is_for_stands_in_the_place_of_a_line(ground):
    for deadlock in failure(ground, for_a_purpose, 3, Deadlock):
        assert [wait.purpose for wait in deadlock.waits] == [f"for supper {r}" for r in range(3)]
        assert "| for supper 1\n" in str(deadlock)
        assert "test_diagnosis.py" not in str(deadlock)
        assert "Change the order in which one of them works" in str(deadlock)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.sampled(2)
def test_a_pipeline_that_hangs_speaks_of_its_micro_batches(ground, strict):
    words = [["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]]
    with pytest.raises(Deadlock) as caught:
        ground(timed, 2, schedule=written("mine", words), strict=strict)
    text = str(caught.value)
    assert "before micro-batch 0 goes backward here, for what stage 1 sends of it" in text
    assert "before micro-batch 1 goes forward here, for what stage 0 sends of it" in text
    assert "worker.py" not in text


def test_a_deadlock_says_which_message_lies_beside_a_wait(ground):
    for deadlock in failure(ground, other_tag, 2, Deadlock):
        assert {wait.rank: wait.unasked for wait in deadlock.waits}[1] == Unasked(0, 7)
        assert deadlock.unasked


def test_lost_messages_are_listed(ground):
    for unreceived in failure(ground, begun_and_forgotten, 2, Unreceived):
        assert unreceived.lost == [Lost(source=1, dest=0, tag=5, nbytes=24)]


@pytest.mark.parametrize(
    ("program", "tag", "name", "same_type"),
    [(too_long, 5, "float64", True), (other_type, 0, "float32", False)],
)
def test_a_mismatch_says_what_was_sent_and_wanted(ground, program, tag, name, same_type):
    for error in failure(ground, program, 2, RankFailed):
        assert error.exception == "MessageMismatch"
        mismatch = error.mismatch
        assert isinstance(mismatch, Mismatch)
        assert (mismatch.rank, mismatch.source, mismatch.tag) == (0, 1, tag)
        assert mismatch.sent[1] == name
        assert mismatch.wanted == (24, "float64")
        assert mismatch.same_type == same_type
        assert error.reason == str(mismatch)


@pytest.mark.parametrize(
    ("program", "name", "said"),
    [
        (past_the_end, "NoSuchRank", "send: rank 2 does not exist here; the ranks are 0 to 1"),
        (on_purpose, "LookupError", "on purpose: nothing"),
    ],
)
def test_a_failure_says_what_was_raised(ground, program, name, said):
    for error in failure(ground, program, 2, RankFailed):
        assert (error.exception, error.reason, error.mismatch) == (name, said, None)


def test_what_runs_on_no_ranks_says_what_was_raised():
    error = tell_raised("your function", "KeyError: 'x'", "line 3")
    assert isinstance(error, DiagnosedError)
    assert (error.exception, error.reason) == ("KeyError", "'x'")
    assert str(error) == "your function raised KeyError: 'x'\n\nline 3"
