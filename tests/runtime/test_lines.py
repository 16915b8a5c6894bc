"""Functions in line, groups that their members alone make, and the program that runs here."""

import numpy as np
import pytest

from ddl_runtime.core.running import running_comm
from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.comm import Deadlock, RankFailed, Uniform

NETWORK = Uniform(latency=1.0, bandwidth=1e9)


def sums_in_line(comm):
    """Three sums; every second rank waits for the second one itself."""
    line, vectors = comm.line(), [np.full(5, comm.rank + i, float) for i in range(3)]
    first = line.start(ring.allreduce, vectors[0])
    if comm.rank % 2:
        line.run(ring.allreduce, vectors[1])
    else:
        line.start(ring.allreduce, vectors[1])
    last = line.start(ring.allreduce, vectors[2])
    first.wait()
    last.wait()
    return [float(vector[0]) for vector in vectors]


def test_a_line_does_all_in_order_whoever_waits(ground, ranks):
    total = ranks * (ranks - 1) / 2
    run = ground(sums_in_line, ranks)
    assert run.results == [[total, total + ranks, total + 2 * ranks]] * ranks


def test_strict_ranks_accept_that(ranks):
    assert simulate(sums_in_line, ranks, strict=True).results


def two_sums(comm, start):
    for _ in range(16):  # then all places for functions in the background are there
        start(comm, np.zeros(1)).wait()
    begun = comm.now()
    requests = [start(comm, np.zeros(1)) for _ in range(2)]
    comm.work(seconds=1.0)
    for request in requests:
        request.wait()
    return comm.now() - begun


def in_line(comm, x):
    if "line" not in comm.attributes:
        comm.attributes["line"] = comm.line()
    return comm.attributes["line"].start(ring.allreduce, x)


def side_by_side(comm, x):
    return comm.background(ring.allreduce, x)


@pytest.mark.parametrize(("start", "seconds"), [(in_line, 4.0), (side_by_side, 2.0)])
def test_functions_in_line_begin_one_after_another(start, seconds):
    """Two sums of two latencies each: four seconds, or two side by side."""
    run = simulate(two_sums, 2, network=NETWORK, start=start)
    assert run.results == pytest.approx([seconds] * 2, rel=1e-6)


def a_failing_line(comm):
    line = comm.line()
    line.start(lambda here: 1 / 0)
    line.start(lambda here: None).wait()


def test_a_function_that_raises_ends_the_line(ground):
    with pytest.raises(RankFailed, match="ZeroDivisionError"):
        ground(a_failing_line, 2)


def sums_of_some(comm, groups):
    sums = []
    for ranks in groups:
        if comm.rank in ranks:
            group = comm.subgroup(ranks)
            x = np.array([comm.rank, 1.0])
            ring.allreduce(group, x)
            sums.append((group.rank, *x.tolist()))
    return sums


GROUPS = [[2, 0], [1, 3], [0, 1, 2], [2, 0]]


def test_members_alone_make_a_group(ground):
    assert ground(sums_of_some, 4, groups=GROUPS).results == [
        [(1, 2.0, 2.0), (0, 3.0, 3.0), (1, 2.0, 2.0)],
        [(0, 4.0, 2.0), (1, 3.0, 3.0)],
        [(0, 2.0, 2.0), (2, 3.0, 3.0), (0, 2.0, 2.0)],
        [(1, 4.0, 2.0)],
    ]


def test_a_member_that_stays_away_is_named():
    with pytest.raises(Deadlock, match=r"subgroup\(\)"):
        simulate(lambda comm: comm.rank or comm.subgroup([0, 1]), 2)


@pytest.mark.parametrize("ranks", [[1], [0, 0], [0, 5]], ids=["others", "twice", "not there"])
def test_groups_that_cannot_be_are_refused(ranks):
    with pytest.raises(RankFailed, match="subgroup"):
        simulate(lambda comm: comm.subgroup(ranks), 1)


def running(comm):
    comm.barrier()
    return running_comm() is comm


def test_the_communicator_of_the_program_that_runs_here(ground):
    assert ground(running, 3).results == [True] * 3
    assert running_comm() is None
