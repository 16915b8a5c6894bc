"""The simulator as a machine: no wait without end, and nothing simulated that cannot be."""

import gc

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import Deadlock, RankFailed
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_teach import Phantom, simulate


@pytest.mark.slow
def test_a_run_leaves_nothing_behind():
    """A thousand runs are no thousand times as large as one."""

    def program(comm):
        comm.barrier()
        comm.sendrecv(np.zeros(10), comm.rank, np.zeros(10), comm.rank)

    simulate(program, 4)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        simulate(program, 4)
    gc.collect()
    assert len(gc.get_objects()) - before < 200


# -- no wait without end --------------------------------------------------------------------


def test_a_deadlock_is_found_at_once_however_long_it_would_be():
    def program(comm):
        comm.work(seconds=1e9)
        comm.recv(Phantom(8), (comm.rank + 1) % comm.size)

    with pytest.raises(Deadlock, match="1000 ranks wait for each other in a ring"):
        simulate(program, 1000)


def test_ranks_that_can_go_on_do_so_before_others_deadlock():
    finished = []

    def program(comm):
        if comm.rank < 2:
            comm.recv(Phantom(8), 1 - comm.rank)
        partner = comm.rank ^ 1
        for _ in range(100):
            comm.work(seconds=1.0)
            comm.sendrecv(Phantom(8), partner, Phantom(8), partner)
        finished.append(comm.rank)

    with pytest.raises(Deadlock) as caught:
        simulate(program, 6)
    assert sorted(finished) == [2, 3, 4, 5]
    assert [wait.rank for wait in caught.value.waits] == caught.value.cycle == [0, 1]


def test_a_wait_for_requests_of_several_communicators_is_told_on_each():
    def program(comm):
        odd = comm.split(comm.rank % 2)
        if comm.rank == 3:
            odd.isend(np.zeros(2, np.int64), 1, tag=7)  # rank 1 of the odd ones is rank 3 itself
            comm.wait_any([odd.irecv(np.zeros(2), 1, tag=7), comm.irecv(np.zeros(2), 0)])

    with pytest.raises(RankFailed, match=r"rank 3 received a message from rank 3.*tag 7.*int64"):
        simulate(program, 6)

    def without_the_misfit(comm):
        odd = comm.split(comm.rank % 2)
        if comm.rank == 5:
            comm.wait_any([odd.irecv(np.zeros(2), 0)])

    with pytest.raises(Deadlock, match=r"irecv\(source=0.*in a group of 3") as caught:
        simulate(without_the_misfit, 6)
    assert caught.value.waits[0].peers == (1,)


def test_the_failure_that_comes_first_in_virtual_time_is_told():
    def program(comm):
        comm.work(seconds=10.0 - comm.rank)
        if comm.rank in (1, 4):
            raise ValueError(f"at {comm.now():g} s")
        comm.barrier()

    with pytest.raises(RankFailed, match="rank 4 raised ValueError: at 6 s"):
        simulate(program, 6)


# -- what cannot be simulated ---------------------------------------------------------------

NAN = float("nan")
WRONG = {
    "ranks=0": (lambda: simulate(len, 0), ValueError, "ranks must be at least 1, not 0"),
    "ranks=-3": (lambda: simulate(len, -3), ValueError, "at least 1, not -3"),
    "ranks=2.0": (lambda: simulate(len, 2.0), TypeError, "whole number, not 2.0"),
    "no network": (lambda: simulate(len, 2, network="fast"), TypeError, "network must be.*'fast'"),
    "a class": (lambda: simulate(len, 2, network=Uniform), TypeError, r"network=Uniform\(...\)"),
    "no machine": (lambda: simulate(len, 2, machine=3), TypeError, "machine must be.*not 3"),
    "latency=-1": (lambda: Uniform(latency=-1), ValueError, "latency must be zero or more"),
    "latency=inf": (lambda: Uniform(latency=1e999), ValueError, "latency must be.*finite"),
    "latency=nan": (lambda: Uniform(latency=NAN), ValueError, "latency must be.*not nan"),
    "latency='1us'": (lambda: Uniform(latency="1us"), TypeError, "latency must be.*not '1us'"),
    "bandwidth=0": (lambda: Uniform(bandwidth=0), ValueError, "bandwidth must be positive"),
    "bandwidth=nan": (lambda: Uniform(bandwidth=NAN), ValueError, "bandwidth must be positive"),
    "overhead=None": (lambda: Uniform(overhead=None), TypeError, "must be a plain number"),
    "gap=-1": (lambda: TwoLevel(2, gap=-1), ValueError, "gap must be zero or more"),
    "no ranks on a node": (lambda: TwoLevel(0), ValueError, "ranks_per_node.*not 0"),
    "half a rank": (lambda: TwoLevel(1.5), TypeError, "ranks_per_node.*not 1.5"),
    "nodes in a list": (lambda: TwoLevel([4, 2]), TypeError, "last node may have fewer"),
    "inside=3": (lambda: TwoLevel(2, inside=3), TypeError, r"inside must be a Uniform\(...\)"),
    "flops=0": (lambda: Machine(flops=0), ValueError, "flops must be positive"),
    "flops='1G'": (lambda: Machine(flops="1G"), TypeError, "flops must be.*not '1G'"),
    "reduce=nan": (lambda: Machine(reduce_bandwidth=NAN), ValueError, "reduce_bandwidth must be"),
    "jitter=-1": (lambda: Machine(jitter=-1), ValueError, "jitter must be zero or more"),
    "stragglers=[2]": (lambda: Machine(stragglers=[2]), TypeError, "stragglers names slow ranks"),
    "factor 0": (lambda: Machine(stragglers={1: 0}), ValueError, "straggler 1 must be positive"),
    "factor 'x'": (lambda: Machine(stragglers={1: "x"}), TypeError, "straggler 1 must be.*'x'"),
    "straggler 9": (lambda: simulate(len, 2, machine=Machine(stragglers={9: 2.0})), ValueError,
                    "straggler 9 does not exist: ranks are 0 to 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_simulated_is_refused_with_the_reason(name):
    call, kind, pattern = WRONG[name]
    with pytest.raises(kind, match=pattern):
        call()
