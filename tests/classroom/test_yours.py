"""Whose function a notebook goes on with: the learner's if it is right, else the library's."""

import pytest
from own_ring import own_ring

from ddl_class import yours
from ddl_teach.collectives import linear, ring

pytestmark = pytest.mark.slow


def unwritten(comm, x):
    raise NotImplementedError


def hangs(comm, x):
    comm.recv(x, comm.rank)


def workers_alone(comm, x):
    workers = comm.split(int(comm.rank < 4))
    if comm.rank < 4:
        ring.allreduce(workers, x)


def test_one_that_misses_the_goal_of_a_puzzle_is_used(capsys):
    assert yours("15.spares", workers_alone, linear.allreduce) is workers_alone
    assert "yours works, but not within the goal" in capsys.readouterr().out


def test_a_right_function_is_used(capsys):
    assert yours("06.ring", own_ring, linear.allreduce) is own_ring
    assert "yours is used" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [unwritten, hangs, lambda comm: None, None])
def test_the_library_stands_in_for_any_other(wrong, capsys):
    assert yours("06.ring", wrong, ring.allreduce) is ring.allreduce
    assert "the library's own takes its place" in capsys.readouterr().out
