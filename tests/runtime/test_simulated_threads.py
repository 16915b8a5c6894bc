"""Simulated ranks on threads of their own: the same runs, and torch's state for each of them."""

import random
import signal
import threading
import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import follow, random_steps

from ddl_runtime.diagnosis.deadlock import Deadlock, Interrupted, RankFailed
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_teach import ANY, simulate
from ddl_teach.collectives import ring

KINDS = pytest.mark.parametrize("threads", [False, True], ids=["greenlets", "threads"])


@pytest.fixture(autouse=True)
def no_thread_is_left():
    simulate(lambda comm: None, 1)  # begins the one that looks after time limits
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


# -- the same runs --------------------------------------------------------------------------


def everything(run):
    return run.results, run.time, [ledger.messages for ledger in run.ledger], run.timeline.spans


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from([Uniform(), FatTree(4)]))
@settings(max_examples=15)
def test_a_run_is_the_same_to_the_bit_on_threads(seed, ranks, network):
    settings = {"network": network, "machine": Machine(jitter=0.5, latency_jitter=1.0)}
    steps = random_steps(seed, ranks)
    one, other = (
        simulate(follow, ranks, steps=steps, threads=threads, **settings)
        for threads in (False, True)
    )
    assert everything(one) == everything(other)


def test_a_deadlock_tells_the_same_story():
    def program(comm):
        if comm.rank % 5:
            comm.recv(np.zeros(3), (comm.rank + 1) % comm.size)
        else:
            comm.background(lambda other: other.recv(np.zeros(3), comm.rank - 1)).wait()

    stories = []
    for threads in (False, True):
        with pytest.raises(Deadlock) as caught:
            simulate(program, 100, threads=threads)
        stories.append(str(caught.value))
    assert stories[0] == stories[1]
    assert "test_simulated_threads.py" in stories[0]


@KINDS
def test_a_failure_stops_the_blocked_ranks_one_by_one(threads):
    running, unwound = [], []

    def program(comm):
        try:
            if comm.rank == 3:
                comm.work(seconds=1.0)
                raise ValueError("mine")
            comm.recv(np.zeros(1), 3)
        finally:
            running.append(comm.rank)
            time.sleep(0.001)  # whoever else ran would now come in between
            assert running.pop() == comm.rank
            unwound.append(comm.rank)

    with pytest.raises(RankFailed, match="rank 3 raised ValueError: mine"):
        simulate(program, 20, threads=threads)
    assert sorted(unwound) == list(range(20))


def test_exactly_one_rank_runs_at_a_time():
    running = []

    def program(comm):
        for _ in range(20):
            running.append(comm.rank)
            time.sleep(0.0001)
            assert running == [comm.rank]
            running.pop()
            comm.barrier()

    simulate(program, 7, threads=True)


def test_a_simulation_inside_a_rank_of_another():
    def inner(comm, base):
        x = np.full(3, base)
        ring.allreduce(comm, x)
        return x[0]

    def outer(comm):
        results = simulate(inner, 3, base=comm.rank, threads=bool(comm.rank % 2)).results
        comm.barrier()
        return results

    expected = [[3 * rank] * 3 for rank in range(4)]
    assert simulate(outer, 4, threads=True).results == expected
    assert simulate(outer, 4).results == expected


def test_too_many_ranks_for_threads_are_refused():
    with pytest.raises(ValueError, match="at most 1,024, and these are 1,025 ranks"):
        simulate(len, 1025, threads=True)


def test_a_rank_waits_in_its_own_thread_only():
    def program(comm):
        told = []

        def elsewhere():
            try:
                comm.recv(np.zeros(1), comm.rank)
            except RuntimeError as error:
                told.append(str(error))

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return told

    for told in simulate(program, 3, threads=True).results:
        assert "in its own thread" in told[0]


# -- torch ----------------------------------------------------------------------------------


class AllReduceBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, comm):
        ctx.comm = comm
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        ring.allreduce(ctx.comm, gradient)
        return gradient, None


def learns(comm, layers=3):
    weight = torch.full((5,), 1.0, requires_grad=True)
    y = weight * (comm.rank + 1)
    for _ in range(layers):
        y = AllReduceBackward.apply(y, comm)
    y.sum().backward()
    return weight.grad.tolist()


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_collectives_inside_a_backward_pass(ranks):
    results = simulate(learns, ranks, threads=True).results
    assert results == [[ranks**3 * (rank + 1.0)] * 5 for rank in range(ranks)]


def test_ranks_that_share_a_thread_must_not_wait_inside_a_backward_pass():
    with pytest.raises(RankFailed, match=r"inside torch's backward pass.*threads=True"):
        simulate(learns, 2)
    assert simulate(learns, 1).results == [[1.0] * 5]  # nobody waits


@KINDS
def test_who_records_gradients_does_so_until_it_says_otherwise(threads):
    def program(comm):
        dice = random.Random(comm.rank)
        for _ in range(20):
            with torch.set_grad_enabled(dice.random() < 0.5):
                mode = torch.is_grad_enabled()
                for _ in range(dice.randrange(3)):
                    comm.sendrecv(np.zeros(1), comm.rank, np.zeros(1), comm.rank)
                    comm.work(seconds=dice.random())
                comm.barrier()
                assert torch.is_grad_enabled() == mode
            assert torch.is_grad_enabled()
        comm.barrier()
        torch.set_grad_enabled(False)  # and ends so

    simulate(program, 5, threads=threads)
    assert torch.is_grad_enabled()


def test_a_failure_inside_no_grad_leaves_the_caller_as_he_was():
    @torch.no_grad()
    def program(comm):
        if comm.rank == 1:
            raise ValueError
        comm.recv(np.zeros(1), ANY)

    with pytest.raises(RankFailed):
        simulate(program, 3)
    assert torch.is_grad_enabled()
    with torch.no_grad():
        simulate(lambda comm: comm.barrier(), 3)
        assert not torch.is_grad_enabled()


@KINDS
def test_inference_mode_stays_with_its_rank(threads):
    def program(comm):
        with torch.inference_mode(comm.rank == 0):
            comm.barrier()
            return torch.is_inference_mode_enabled()

    if threads:
        assert simulate(program, 3, threads=True).results == [True, False, False]
    else:
        with pytest.raises(RankFailed, match=r"torch.inference_mode.*threads=True"):
            simulate(program, 3)


# -- Ctrl-C ---------------------------------------------------------------------------------


def interrupted(program, after):
    """What is told of a Ctrl-C when that event has happened."""

    def interrupts():
        after.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    ctrl_c = threading.Thread(target=interrupts)
    ctrl_c.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            simulate(program, 4, network=TwoLevel(2), threads=True)
    finally:
        ctrl_c.join()
    return caught.value


def test_ctrl_c_reaches_the_rank_that_computes():
    begun = threading.Event()

    def program(comm):
        if comm.rank != 2:
            comm.recv(np.zeros(1), 2)
        begun.set()
        while True:
            pass

    told = interrupted(program, begun)
    assert isinstance(told, Interrupted)
    assert "interrupted while rank 2 ran" in str(told)
    assert "in program" in str(told)


@pytest.mark.slow
def test_ctrl_c_is_heard_in_the_midst_of_handovers():
    dice = random.Random(1)
    for _ in range(30):
        begun, rounds = threading.Event(), dice.randrange(1, 300)

        def program(comm, begun=begun, rounds=rounds):
            number = 0
            while True:
                comm.barrier()
                number += 1
                if number == rounds:
                    begun.set()

        interrupted(program, begun)


def rolls(comm):
    torch.manual_seed(comm.rank)
    numbers = []
    for _ in range(3):
        numbers.append(float(torch.rand(())))
        comm.barrier()
    return numbers


def rolls_alone(rank):
    torch.manual_seed(rank)
    return [float(torch.rand(())) for _ in range(3)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_each_rank_has_torchs_dice_for_itself(ranks):
    assert simulate(rolls, ranks, threads=True).results == [*map(rolls_alone, range(ranks))]
