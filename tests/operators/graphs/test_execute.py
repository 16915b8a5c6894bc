"""Graphs of real tasks on threads: nobody begins too early, and what was done is done once."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_schedule import graphs

from ddl_teach.operators.graphs.execute import run_on_threads


@settings(max_examples=25, deadline=None)
@given(graphs(most=30), st.integers(1, 5))
def test_every_task_once_after_those_it_waits_for(predecessors, threads):
    done = []
    tasks = [lambda one=one: done.append(one) for one in range(len(predecessors))]
    plan = run_on_threads(predecessors, tasks, threads)
    assert sorted(done) == list(range(len(predecessors)))
    ends = plan.start + plan.duration
    for one, before in enumerate(predecessors):
        assert all(done.index(other) < done.index(one) for other in before)
        assert all(ends[other] <= plan.start[one] for other in before)
    for thread in range(threads):
        own = np.flatnonzero(plan.processor == thread)
        own = own[np.argsort(plan.start[own])]
        assert (ends[own][:-1] <= plan.start[own][1:]).all()
    assert plan.processors == threads


def test_two_that_wait_for_each_other_need_two_threads():
    meeting = threading.Barrier(2)
    plan = run_on_threads([[], []], [lambda: meeting.wait(20)] * 2, threads=2)
    assert sorted(plan.processor) == [0, 1]


def test_the_first_failure_ends_all_and_is_raised():
    done = []

    def fail():
        raise ArithmeticError("no such block")

    chain = [[], [0], [1], []]
    with pytest.raises(ArithmeticError, match="no such block"):
        run_on_threads(chain, [fail, *[lambda: done.append(1)] * 3], threads=1)
    assert done == []


@pytest.mark.parametrize(
    ("predecessors", "threads", "words"),
    [([[]], 1, "give one each"), ([[], []], 0, "threads must be"), ([[1], [0]], 1, "itself")],
)
def test_what_cannot_run_is_refused(predecessors, threads, words):
    with pytest.raises(ValueError, match=words):
        run_on_threads(predecessors, [print, print], threads)
