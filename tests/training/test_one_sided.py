"""The distribution through windows: weights in everybody's memory, and nobody who serves."""

import math

import numpy as np
import pytest
from test_servers import STEPS, follow, one_average, twin

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.half import Half
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.backup_workers import BackupWorkers
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.one_sided import OneSided
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.sgd import SGD


def all_bounds(comm):
    """Where the weights end, with every bound; and some averages in a row."""
    ends = []
    for bound in (0, 1, math.inf):
        ends.append(follow(comm, OneSided(), Service(SGD(0.1), bound)))
        comm.barrier()
    return ends, averaged_five_times(comm)


def at_uneven_paces(comm, slow):
    """Together, and all time in the steps of one worker, another one at each clock."""

    def take_time(comm, worker, clock):
        if (worker + clock) % comm.size == slow:
            comm.work(seconds=1.0)
        return True

    return follow(comm, OneSided(), Service(SGD(0.1), 0), before=take_time)


@pytest.mark.parametrize("slow", [0, 1])
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_together_no_rank_changes_what_another_still_reads(ranks, slow):
    right = twin(ranks, SGD(0.1))
    for ended in simulate(at_uneven_paces, ranks, slow=slow).results:
        assert np.abs(ended - right).max() < 1e-12


def trained_three_times(comm):
    """Trainings and averages one after another on one communicator, without a barrier between."""
    return [follow(comm, OneSided(), Service(SGD(0.1), bound)) for bound in (0, 0, 2)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_trainings_one_after_another_do_not_meet(ranks):
    right = twin(ranks, SGD(0.1))
    for first, second, ahead in simulate(trained_three_times, ranks).results:
        assert np.abs(first - right).max() < 1e-12
        assert np.abs(second - right).max() < 1e-12
        assert np.isfinite(ahead).all()


def averaged_five_times(comm):
    """Each mean with this rank's number added once more."""
    vector = np.full(7, comm.rank, np.float32)
    handle = OneSided().open(comm, vector, Dense(), Service())
    for _ in range(5):
        handle.average(vector)
        vector += comm.rank
    return vector - comm.rank


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_averages_in_a_row_keep_apart(ranks):
    mean = (ranks - 1) / 2
    for vector in simulate(averaged_five_times, ranks).results:
        assert vector == pytest.approx(np.full(7, 5 * mean), rel=1e-6)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(3)
def test_memory_that_is_added_to_trains_as_one_process_would(ranks, real):
    mean = (ranks - 1) / 2
    for run in (real(all_bounds, ranks), simulate(all_bounds, ranks)):
        for (together, ahead, free), vector in run.results:
            assert np.abs(together - twin(ranks, SGD(0.1))).max() < 1e-12
            assert np.isfinite(ahead).all()
            assert np.isfinite(free).all()
            assert vector == pytest.approx(np.full(7, 5 * mean), rel=1e-6)


def test_it_sends_each_byte_once_and_the_memory_sends_it_back(real):
    size, ranks = 1_000, 5
    run = real(one_average, ranks, distribution=OneSided(), size=size)
    for ledger in run.ledger:
        by_kind = dict.fromkeys(("add", "get"), 0)
        for message in ledger.messages:
            if message.kind in by_kind:
                by_kind[message.kind] += message.bytes
        assert by_kind == {"add": 4 * size, "get": 4 * size}


def test_nobody_waits_for_a_slow_one_beyond_the_bound():
    def slow(comm, worker, clock):
        comm.work(seconds=1.0 if worker == 2 else 0.1)
        return True

    times = {}
    for bound in (0, 2, math.inf):
        run = simulate(
            lambda comm, bound=bound: (
                follow(comm, OneSided(), Service(SGD(0.01), bound), before=slow),
                comm.now(),
            ),
            4,
            network=Uniform(1e-6, 1e9),
        )
        times[bound] = run.results[0][1]
    assert times[0] == pytest.approx(STEPS, 0.02)
    assert times[2] == pytest.approx(STEPS - 2 + 0.1, 0.1)
    assert times[math.inf] == pytest.approx(0.1 * STEPS, 0.1)


def test_who_waits_for_one_that_is_gone_is_told():
    with pytest.raises(RankFailed, match="worker 1 has stayed at clock 2 for 3 s"):
        simulate(
            follow, 3, distribution=OneSided(patience=3.0), service=Service(SGD(0.1)),
            before=lambda comm, worker, clock: (worker, clock) != (1, 2),
        )  # fmt: skip


def test_what_memory_cannot_do_is_refused():
    def objection(consistency, compressor=Dense(), update=SGD(0.1)):
        return OneSided().objection(consistency, compressor, update)

    assert "adds numbers" in objection(Synchronous(), Half())
    assert "which update came last" in objection(BackupWorkers(1))
    assert "keeps states" in objection(Asynchronous(), update=Momentum(0.1, 0.9))
    assert objection(Asynchronous()) is None
    assert objection(Synchronous(), update=Momentum(0.1, 0.9)) is None
