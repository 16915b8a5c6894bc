"""A training that replays: what it finds, what it mends, whom it names, and its false alarms."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_teach import simulate
from ddl_teach.fault_tolerance import corruption
from ddl_teach.fault_tolerance.replay import CorruptRank, Replay
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

TASK, STEPS = Digits(hidden=8), 12


@pytest.fixture(params=[1, 2, 3, 4, 5, 8], ids="{} ranks".format)
def ranks(request):
    return request.param


@pytest.fixture(params=["simulated", "real"])
def run(request, ranks):
    def on_ranks(program, **kwargs):
        if request.param == "real":
            return request.getfixturevalue("real")(program, ranks, **kwargs)
        return simulate(program, ranks, **kwargs)

    return on_ranks


def flips(comm, steps, rank, stays=False):
    """The digits, but that a bit of this rank's gradient flips in these steps: once, or whenever
    it computes, its neighbour's gradient too."""
    done = set()

    def gradient(weights, part, parts, step):
        loss, own = TASK.gradient(weights, part, parts, step)
        if comm.rank == rank and step in steps and (stays or (part == rank and step not in done)):
            done.add(step)
            corruption.flip(own, 3, 5)
        return loss, own

    return SimpleNamespace(initial=TASK.initial, gradient=gradient)


def trained(comm, steps=(), rank=1, stays=False, **replay):
    watched = Replay(comm, flips(comm, steps, rank % comm.size, stays), **replay)
    result = train(comm, watched, Synchronous(), update=SGD(0.2), steps=STEPS)
    return watched.alarms, watched.replayed, result.weights.tobytes()


def plainly(comm):
    return train(comm, TASK, Synchronous(), update=SGD(0.2), steps=STEPS).weights.tobytes()


@pytest.mark.parametrize("every", [1, 4])
def test_a_clean_training_has_no_alarm_and_learns_the_same(run, every):
    clean = run(plainly).results
    for result, weights in zip(run(trained, every=every).results, clean, strict=True):
        assert result == ([], STEPS // every, weights)


def test_a_bit_that_flips_once_is_found_and_leaves_no_trace(run, ranks):
    clean = run(plainly).results
    for (alarms, replayed, weights), wanted in zip(
        run(trained, steps=(2, 7)).results, clean, strict=True
    ):
        assert alarms == [(2, [1 % ranks]), (7, [1 % ranks])]
        assert replayed == STEPS + 2
        assert weights == wanted


def test_without_a_replay_the_same_bit_stays(ranks):
    unseen = simulate(trained, ranks, steps=(2,), every=5)
    assert unseen.results[0][0] == []
    assert unseen.results[0][2] != simulate(plainly, ranks).results[0]


@pytest.mark.parametrize("count", [3, 4, 5, 8])
def test_a_rank_that_stays_wrong_is_named(count):
    with pytest.raises(RankFailed, match=r"Replace \[1\]"):
        simulate(trained, count, steps=range(4, STEPS), stays=True)


def test_one_of_two_is_not_named_for_both_could_be_it():
    error = CorruptRank(3, [2], 4)
    assert (error.suspects, error.differs, error.step) == ([], [2], 3)
    assert "2 and 3" in str(error)


def in_double(comm, seed):
    """Odd ranks compute in double precision and round at the end: right, and not bit for bit."""
    exact = Digits(hidden=8, dtype="float64")

    def gradient(weights, part, parts, step):
        if comm.rank % 2 == 0:
            return TASK.gradient(weights, part, parts, step)
        loss, own = exact.gradient(weights.astype(float), part, parts, step)
        return loss, own.astype("f4")

    watched = Replay(comm, SimpleNamespace(initial=TASK.initial, gradient=gradient), retries=None)
    train(comm, watched, Synchronous(), update=SGD(0.2), steps=STEPS)
    return len(watched.alarms), watched.replayed


def test_ranks_that_round_otherwise_are_all_false_alarms_and_only_noted():
    assert simulate(in_double, 4, seed=0).results == [(STEPS, STEPS)] * 4


def drifting(comm):
    train(comm, Replay(comm, TASK), LocalSGD(4), update=SGD(0.2), steps=8)


def test_weights_that_differ_are_refused_with_the_reason():
    with pytest.raises(RankFailed, match="have other weights"):
        simulate(drifting, 4)


def test_its_bytes_are_those_of_three_numbers_to_each_rank(ranks):
    def one(comm):
        Replay(comm, TASK).gradient(TASK.initial(), comm.rank, comm.size, 0)
        return comm.ledger.bytes_sent

    assert simulate(one, ranks).results == [24 * (ranks - 1)] * ranks


def test_a_device_is_passed_on_to_tasks_that_can_move():
    moved = SimpleNamespace(
        on=lambda device: (device, TASK), initial=TASK.initial, gradient=TASK.gradient
    )
    assert Replay(None, moved).on("cuda:1").task == ("cuda:1", TASK)
    assert Replay(None, TASK).on("cuda:1").task is TASK
    with pytest.raises(ValueError, match="every"):
        Replay(None, TASK, every=0)
    assert np.array_equal(Replay(None, TASK).initial(), TASK.initial())


def test_a_training_with_servers_is_refused_before_any_message():
    def program(comm):
        return train(comm, Replay(comm, TASK), Synchronous(), Server(), update=SGD(0.2), steps=3)

    with pytest.raises(RankFailed, match="Every rank must be a worker"):
        simulate(program, 3)


@pytest.mark.parametrize(("ranks", "suspects"), [(2, []), (3, [1]), (5, [1])])
def test_of_two_ranks_none_is_accused_and_the_error_travels(ranks, suspects):
    error = CorruptRank(7, [0, 1], ranks)
    assert error.suspects == suspects
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.suspects) == (str(error), error.suspects)


def test_fewer_than_no_retries_are_refused():
    with pytest.raises(RankFailed, match="retries must be at least 0"):
        simulate(lambda comm: Replay(comm, TASK, retries=-1), 1)
