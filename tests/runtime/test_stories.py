"""No hang without a story: read what the learner reads, then use the same processes again."""

import os
import re
import threading

import numpy as np
import pytest
import torch
from hanging_programs import (
    HANGING,
    HANGING_ON_REAL_RANKS,
    MISFITS,
    RECEIVES,
    TO_ONESELF,
    misfit,
    misfit_with_oneself,
)
from serving_programs import SERVING

from ddl_runtime.diagnosis.deadlock import MessageMismatch, RankFailed
from ddl_teach import ANY, simulate


def all_is_well(comm):
    """A program that uses everything, to see that nothing is left of the one before."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x, y = np.full(4, comm.rank), np.zeros(4, int)
    comm.sendrecv(x, right, y, left)
    assert (y == left).all()
    half = comm.split(comm.rank % 2)
    half.sendrecv(x, (half.rank + 1) % half.size, y, (half.rank - 1) % half.size)
    comm.background(lambda other: other.sendrecv(x, right, y, left)).wait()
    assert (y == left).all()
    comm.barrier()
    return os.getpid()


@pytest.fixture
def survives(real):
    """The processes are the same afterwards, and in order."""
    before = real(all_is_well, 8).results
    yield
    assert real(all_is_well, 8).results == before


def read(error, run, program, ranks, **kwargs):
    """Run a program that must fail in this way; returns the text."""
    with pytest.raises(error) as caught:
        run(program, ranks, **kwargs)
    return str(caught.value)


def names(rows):
    return [row[0].__name__.replace("_", " ") for row in rows]


@pytest.mark.parametrize("row", HANGING + SERVING, ids=names(HANGING + SERVING))
@pytest.mark.sampled(8)
def test_the_story_of_a_hang_on_real_ranks(real, survives, row):
    program, ranks, error, *patterns = row
    text = read(error, real, program, ranks)
    for pattern in patterns:
        assert re.search(pattern, text, re.DOTALL | re.IGNORECASE), text
    if "sent" not in patterns[0]:
        assert f"{program.__module__}.py" in text


@pytest.mark.parametrize("row", HANGING + SERVING, ids=names(HANGING + SERVING))
def test_the_story_of_a_hang_on_simulated_ranks(row):
    program, ranks, error, *patterns = row
    text = read(error, simulate, program, ranks)
    for pattern in patterns:
        assert re.search(pattern, text, re.DOTALL | re.IGNORECASE), text
    if "sent" not in patterns[0]:
        assert f"{program.__module__}.py" in text


@pytest.mark.parametrize("row", HANGING_ON_REAL_RANKS, ids=names(HANGING_ON_REAL_RANKS))
@pytest.mark.sampled(2)
def test_the_story_of_what_hangs_on_real_ranks_only(real, survives, row):
    program, ranks, error, *patterns = row
    text = read(error, real, program, ranks)
    for pattern in patterns:
        assert re.search(pattern, text, re.DOTALL), text


@pytest.mark.parametrize(("sent", "wanted", "pattern"), MISFITS.values(), ids=MISFITS)
@pytest.mark.parametrize("receive", RECEIVES)
@pytest.mark.sampled(16)
def test_messages_that_do_not_fit(ground, survives, receive, sent, wanted, pattern):
    with pytest.raises(RankFailed) as caught:
        ground(misfit, 2, sent=sent, wanted=wanted, receive=receive)
    text = str(caught.value)
    assert caught.value.rank == 1
    assert "rank 1 raised MessageMismatch: rank 1 received a message from rank 0" in text
    assert re.search(pattern, text), text
    assert "hanging_programs.py" in text


@pytest.mark.parametrize(
    ("sent", "wanted"), [(4, 3), (4, 0), (400, 3), (500, 499), (3, 4), (131_072, 512)]
)
@pytest.mark.parametrize("way", TO_ONESELF)
@pytest.mark.sampled(16)
def test_messages_to_oneself_that_do_not_fit(ground, survives, way, sent, wanted):
    """Open MPI would write some of them over the end of the array."""
    how, source = TO_ONESELF[way]
    # The sizes of the last pair are long and give the same hint in the tag for MPI.
    with pytest.raises(RankFailed, match="rank 1 raised MessageMismatch") as caught:
        ground(misfit_with_oneself, 2, way=how, sent=sent, wanted=wanted, source=source)
    text = str(caught.value)
    assert "rank 1 received a message from rank 1 (tag 0) that does not fit" in text
    assert f"the receiving array holds {8 * wanted} bytes of float64" in text


def several_to_oneself(comm):
    """Each meets the receive that it fits, also where one that it does not fit is older."""
    small, large, other = np.zeros(2), np.zeros(5), np.zeros(2, int)
    requests = [comm.irecv(small, ANY), comm.irecv(other, comm.rank), comm.irecv(large, comm.rank)]
    requests.append(comm.irecv(short := np.zeros(1), comm.rank, tag=1))
    for x, tag in ((np.ones(2), 0), (np.full(5, 2.0), 0), (np.full(1, 3.0), 1)):
        comm.send(x, comm.rank, tag)
    comm.send(np.full(2, 4), comm.rank)
    for request in reversed(requests):
        request.wait()
    return [*small, *large, *short, *other]


def test_messages_to_oneself_meet_the_receives_they_fit(ground):
    for found in ground(several_to_oneself, 2).results:
        assert found == [1, 1, 2, 2, 2, 2, 2, 3, 4, 4]


def a_misfit_is_an_exception(comm):
    """Caught, it leaves the rank able to go on."""
    if comm.rank == 0:
        comm.send(np.zeros(4), 1)
        comm.send(np.ones(3), 1, tag=1)
    if comm.rank == 1:
        with pytest.raises(MessageMismatch, match="does not fit"):
            comm.recv(np.zeros(5), 0)
        x = np.zeros(3)
        comm.recv(x, 0, tag=1)
        assert x.all()
    comm.barrier()


def types_are_part_of_what_must_match(comm):
    """Legal: the receiver asks for the later message first, and for long nothing fits."""
    if comm.rank == 0:
        comm.send(np.ones(3), 1)
        comm.work(seconds=0.4)
        comm.send(np.full(2, 2, np.float32), 1)
    if comm.rank == 1:
        x, y = np.zeros(2, np.float32), np.zeros(3)
        comm.recv(x, 0)
        comm.recv(y, 0)
        return x.tolist(), y.tolist()
    return None


def test_a_message_of_another_type_is_no_error_while_the_right_one_may_come(ground):
    assert ground(types_are_part_of_what_must_match, 3).results[1] == ([2, 2], [1, 1, 1])


# -- exceptions -----------------------------------------------------------------------------


class Unpicklable(Exception):
    def __init__(self):
        super().__init__("held a lock")
        self.lock = threading.Lock()


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def raises(comm, error, seconds=0.0):
    comm.work(seconds=seconds * (comm.size - comm.rank))
    if comm.rank == comm.size - 1:
        raise error() if isinstance(error, type) else error
    comm.barrier()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("x"), "KeyError: 'x'"),
        (AssertionError(), "AssertionError\n"),
        (SystemExit(3), r"SystemExit(3): the program called exit"),
        (SystemExit(), "SystemExit"),
        (Unpicklable, "Unpicklable: held a lock"),
        (Speechless, "Speechless: (its text could not be made)"),
        (UnicodeDecodeError("ascii", b"\xff", 0, 1, "ordinal"), "UnicodeDecodeError: 'ascii'"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
@pytest.mark.sampled(2)
def test_any_exception_is_told_with_its_rank_and_line(ground, survives, error, words):
    with pytest.raises(RankFailed) as caught:
        ground(raises, 4, error=error)
    text = str(caught.value)
    assert caught.value.rank == 3
    assert f"rank 3 raised {words}" in text
    assert "in raises" in text
    assert "worker.py" not in text
    assert "simulator.py" not in text


def test_the_exception_itself_is_the_cause(ground):
    with pytest.raises(RankFailed) as caught:
        ground(raises, 3, error=KeyError("x"))
    assert isinstance(caught.value.__cause__, KeyError)


def all_raise(comm, first):
    comm.work(seconds=0.0 if comm.rank == first else 30.0)
    raise ValueError(f"from {comm.rank}")


@pytest.mark.parametrize("first", [0, 2, 4])
@pytest.mark.sampled(2)
def test_the_exception_that_came_first_is_told(ground, survives, first):
    with pytest.raises(RankFailed, match=f"rank {first} raised ValueError: from {first}"):
        ground(all_raise, 5, first=first)


def all_raise_at_once(comm):
    comm.barrier()
    raise ValueError("together")


def test_all_may_raise_at_once(ground, survives):
    for _ in range(5):
        with pytest.raises(RankFailed, match="together"):
            ground(all_raise_at_once, 8)


def late_result(comm):
    return threading.Lock() if comm.rank == 1 else comm.rank


def test_a_result_that_cannot_be_sent_back_is_named(real, survives):
    with pytest.raises(RankFailed, match="rank 1 raised TypeError: its result, a lock, cannot"):
        real(late_result, 3)


@pytest.mark.parametrize("kwargs", [{"x": threading.Lock()}, {"f": open}], ids=["lock", "fine"])
def test_arguments_that_cannot_be_sent_are_refused_at_once(real, survives, kwargs):
    def program(comm, **_):
        return comm.rank

    if "f" in kwargs:
        assert real(program, 2, **kwargs).results == [0, 1]
        return
    with pytest.raises(TypeError, match=r"program cannot be sent to other processes.*locks"):
        real(program, 2, **kwargs)
    with pytest.raises(TypeError, match="its own copy of the argument x"):
        simulate(program, 2, **kwargs)


def test_a_program_that_holds_what_cannot_travel_is_refused(real, survives):
    lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot be sent to other processes"):
        real(lambda comm: lock, 2)
    with pytest.raises(TypeError, match="must be a function of a communicator, not 3"):
        real(3, 2)
    with pytest.raises(TypeError, match="must be a function of a communicator, not 3"):
        simulate(3, 2)


def test_a_program_travels_with_names_of_modules_of_another_type(real):
    def program(comm):
        return torch.ops.aten.relu(torch.tensor(comm.rank - 1)).item()

    assert real(program, 3).results == [0, 0, 1]


def test_a_wrong_argument_is_the_programs_error(ground):
    with pytest.raises(RankFailed, match="unexpected keyword argument 'nonsense'"):
        ground(all_is_well, 2, nonsense=1)


def test_unreceived_messages_still_give_the_run(ground):
    def program(comm):
        comm.isend(np.zeros(2), (comm.rank + 1) % comm.size)
        return comm.rank

    with pytest.raises(Exception, match="no rank received") as caught:
        ground(program, 3)
    assert caught.value.run.results == [0, 1, 2]
