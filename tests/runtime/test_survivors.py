"""Ranks that outlive others: the verbs, the same on simulated ranks and on real ones."""

import numpy as np
import pytest

from ddl_runtime.core.fault_tolerance import RankLost
from ddl_runtime.diagnosis.deadlock import Deadlock, DiagnosedError
from ddl_runtime.launcher.mpiexec import fault_tolerance, mpiexec_path
from ddl_runtime.mpi.communicator import TOLD_BY_MPIEXEC
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_runtime.topologies.shared_links import Star
from ddl_teach import launch, simulate

pytestmark = pytest.mark.real

RANK_COUNTS = (2, 3, 4, 5, 8)
LONG = 2000  # numbers: a message that waits for its receiver


def real(program, ranks, **kwargs):
    """On real ranks that may die; skipped, with the reason, where the MPI has no such thing."""
    try:
        fault_tolerance(mpiexec_path())
    except DiagnosedError as none:
        pytest.skip(str(none))
    return launch(program, ranks, survivors=True, timeout=120, **kwargs)


def one_by_one(comm, nbytes_long):
    """The last rank dies, again and again, until one is left; each time at another place, while
    the others wait in another call."""
    told, begun_with = [], comm.size
    while comm.size > 1:
        size, rank = comm.size, comm.rank
        onward, back = (rank + 1) % size, (rank - 1) % size
        x, y = np.full(nbytes_long, float(rank)), np.empty(nbytes_long)
        whole, noticed = True, False
        try:
            if rank == size - 1:
                comm.die()
            kind = size % 3
            if kind == 0:
                comm.sendrecv(x, onward, y, back)
            elif kind == 1:
                comm.irecv(y, back).wait()  # who dies is waited for by one, others by nobody
            else:
                comm.barrier()
        except RankLost as lost:
            whole, noticed = False, lost.dead in ((), (size - 1,))
            comm.revoke()
        assert not comm.agree(whole)
        comm = comm.shrink()
        assert (comm.rank, comm.size) == (rank, size - 1)
        total = np.array([1.0])
        ring = [np.array([0.0]) for _ in range(comm.size)]
        for other in range(comm.size):
            comm.send(total, other, tag=4)
        for other in range(comm.size):
            comm.recv(ring[other], other, tag=4)
        told.append((size, noticed, int(sum(each[0] for each in ring))))
        assert comm.agree()
        assert not comm.agree(comm.rank != 0)
    return begun_with, told


def check_one_by_one(run, ranks):
    living = [result for result in run.results if result is not None]
    assert run.results[1:] == [None] * (ranks - 1)
    assert len(living) == 1
    begun_with, told = living[0]
    assert begun_with == ranks
    # By a barrier everybody notices; by messages those whom nobody revoked would not.
    noticed = {size: noticed for size, noticed, _ in told}
    assert [(size, left) for size, _, left in told] == [
        (size, size - 1) for size in range(ranks, 1, -1)
    ]
    assert all(noticed.values())


@pytest.mark.parametrize("ranks", RANK_COUNTS)
@pytest.mark.parametrize(
    "ground",
    [
        {},
        {"threads": True},
        {"machine": Machine(eager=100)},
        {"network": Uniform(latency=1e-3, bandwidth=1e6)},
        {"network": Star(8)},
    ],
    ids=["plain", "threads", "rendezvous", "slow", "shared-links"],
)
def test_simulated_ranks_die_one_by_one(ranks, ground):
    check_one_by_one(simulate(one_by_one, ranks, nbytes_long=LONG, **ground), ranks)


def test_real_ranks_die_one_by_one_from_8_to_1():
    check_one_by_one(real(one_by_one, 8, nbytes_long=LONG), 8)


def waits_for_the_living(comm, revokes):
    """Rank 2 dies; rank 1 waits for it, rank 0 for rank 1."""
    if comm.rank == 2:
        comm.die()
    x = np.zeros(1)
    try:
        comm.recv(x, comm.rank + 1)
        comm.send(x, 0)
    except RankLost as lost:
        if revokes:
            comm.revoke()
        return lost.dead, comm.now()
    return "nobody told me"


def test_only_who_revokes_tells_those_who_wait_for_the_living():
    latency = 0.5
    run = simulate(waits_for_the_living, 3, network=Uniform(latency=latency), revokes=True)
    (dead_0, when_0), (dead_1, when_1), nothing = run.results
    assert (dead_0, dead_1, nothing) == ((), (2,), None)
    assert (when_1, when_0) == (latency, 2 * latency)
    with pytest.raises(
        Deadlock, match=r"(?s)rank 0.*waits for rank 1, which has already returned"
    ):
        simulate(waits_for_the_living, 3, revokes=False)


def goes_home(comm):
    if comm.rank == 0:
        return
    comm.agree()


def test_who_goes_home_without_agreeing_is_named():
    with pytest.raises(Deadlock, match=r"(?s)agree\(\).*waits for rank 0"):
        simulate(goes_home, 3)


def agrees(comm):
    begun = comm.now()
    answers = [comm.agree(), comm.agree(comm.rank != 1), comm.agree(np.bool_(True))]
    return answers, comm.now() - begun


@pytest.mark.parametrize("ranks", RANK_COUNTS)
def test_agreeing_costs_what_is_said_and_has_one_answer(ranks):
    run = simulate(agrees, ranks, network=Uniform(latency=1.0))
    rounds = 2 * int(np.ceil(np.log2(ranks)))
    assert run.results == [([True, False, True], 3 * rounds)] * ranks


def dies_and_splits(comm):
    """A group of a communicator loses a rank; the other group never hears of it."""
    group = comm.split(comm.rank % 2)
    x = np.zeros(1)
    if comm.rank == 3:
        comm.die()
    try:
        onward, back = (group.rank + 1) % group.size, (group.rank - 1) % group.size
        group.sendrecv(x, onward, x.copy(), back)
        group.barrier()
    except RankLost:
        group = group.shrink()
    else:
        if comm.rank % 2:
            group = group.shrink()
    group.barrier()
    return group.size


def test_a_group_shrinks_alone():
    assert simulate(dies_and_splits, 5).results == [3, 1, 3, None, 3]


def shrinks(comm):
    comm.shrink()


def test_where_no_rank_survives_another_the_error_says_how_to_start_them(monkeypatch):
    monkeypatch.delenv(TOLD_BY_MPIEXEC, raising=False)
    with pytest.raises(DiagnosedError, match="survivors=True"):
        launch(shrinks, 1)


def all_die(comm):
    comm.die()


def test_when_all_die_that_is_the_story():
    with pytest.raises(DiagnosedError, match="All ranks have died"):
        real(all_die, 2)
    assert simulate(all_die, 3).results == [None] * 3
