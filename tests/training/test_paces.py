"""Delays on purpose, steps that get smaller with age, and what is lost without a lock."""

import numpy as np
import pytest

from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.theory import stragglers
from ddl_teach.training.consistency.asynchronous import Asynchronous, inverse
from ddl_teach.training.consistency.backup_workers import BackupWorkers
from ddl_teach.training.consistency.lost_updates import lost_share
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.paces import ByChance, Even, OneSlow
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.trainer import train


def ends(consistency, pace, workers, steps):
    """When each step was computed, by the fast workers whose gradients were never dropped."""
    results = simulate(
        train, workers + 1, trace=False, task=Quadratic((1.0,)), consistency=consistency,
        distribution=Server(),
        update=SGD(1e-4), pace=pace, steps=steps,
    ).results  # fmt: skip
    seconds = [result.seconds for result in results[2:] if len(result.seconds) == steps]
    return np.median(seconds, axis=0)


def test_paces_are_what_they_say():
    assert Even(0.5)(3, 7) == 0.5
    assert [OneSlow(0.5, 4, worker=2)(worker, 0) for worker in range(4)] == [0.5, 0.5, 2.0, 0.5]
    drawn = [ByChance(2.0)(worker, step) for worker in range(50) for step in range(50)]
    assert np.mean(drawn) == pytest.approx(2.0, rel=0.1)
    assert np.std(drawn) == pytest.approx(2.0, rel=0.1)
    assert len(set(drawn)) == len(drawn)
    assert drawn[7] == ByChance(2.0)(0, 7) != ByChance(2.0, seed=1)(0, 7)


@pytest.mark.slow
@pytest.mark.parametrize(("consistency", "bound"), [(Synchronous(), 0), (StaleSynchronous(2), 2)])
def test_no_finite_bound_cures_a_persistent_straggler(consistency, bound):
    times = ends(consistency, OneSlow(0.01, 5), workers=200, steps=8)
    assert times == pytest.approx(
        [stragglers.bounded_time(step, bound, 0.01, 0.05) for step in range(1, 9)], rel=0.01
    )


def test_without_a_bound_nobody_notices_the_straggler():
    times = ends(Asynchronous(), OneSlow(0.01, 5), workers=200, steps=8)
    assert times == pytest.approx(0.01 * np.arange(1, 9), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("consistency", "backups"), [(Synchronous(), 0), (BackupWorkers(5), 5)])
def test_delays_by_chance_cost_what_the_slowest_awaited_costs(consistency, backups):
    times = ends(consistency, ByChance(0.01), workers=200, steps=8)
    assert times[-1] / 8 == pytest.approx(
        stragglers.slowest(200 - backups, 0.01, backups), rel=0.25
    )


def test_steps_that_shrink_with_age_keep_many_workers_stable():
    def learn(damp):
        results = simulate(
            train, 17, trace=False, task=Digits(), consistency=Asynchronous(damp),
            distribution=Server(),
            update=SGD(0.3), pace=Even(0.01), steps=25,
        ).results  # fmt: skip
        return Digits().accuracy(results[1].weights)

    plain, aware = learn(None), learn(inverse)
    assert aware > 0.8
    assert plain < aware - 0.2
    assert [inverse(age) for age in (0, 1, 2, 10)] == [1.0, 1.0, 0.5, 0.1]


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_what_is_added_stays_and_what_is_written_back_wipes_out_the_rest(ranks):
    def lost(write_back):
        network = TwoLevel(ranks)
        run = simulate(lost_share, ranks, network=network, write_back=write_back, steps=20)
        return run.results[0]

    assert lost(write_back=False) == 0
    assert lost(write_back=True) == pytest.approx(1 - 1 / ranks)


@pytest.mark.parametrize("ranks", [1, 4])
def test_real_ranks_lose_less_of_what_they_add(ranks, real):
    added, written = (
        real(lost_share, ranks, write_back=back, steps=50).results[0] for back in (False, True)
    )
    assert 0 <= added < 0.3
    assert written >= added
