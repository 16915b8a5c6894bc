"""Level 3: runs of any ground are scaled against a baseline, their volumes and ends compared."""

import numpy as np
import pytest

from ddl_measure.levels.distributed import measure_distributed
from ddl_measure.scaling import Baseline
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

RANKS, STEPS, SAMPLES = (1, 2, 3, 4, 5, 8), 2, 120
ONE = Baseline(1, 2 * SAMPLES, (0.24,), "one simulated rank, a millisecond a sample")
NETWORK = Uniform(latency=1e-4, bandwidth=1e9)


def training(comm):
    """All samples of a step together are the same number on any number of ranks."""
    share = SAMPLES // comm.size
    task = Digits(batch=share)
    result = train(
        comm, task, Synchronous(), update=SGD(0.1), steps=STEPS,
        pace=lambda worker, step: 1e-3 * share,
    )  # fmt: skip
    return result.weights


def on_simulated(ranks):
    return simulate(training, ranks, network=NETWORK)


def work(ranks):
    return STEPS * SAMPLES


def test_simulated_trainings_scale_send_and_agree():
    found = measure_distributed(on_simulated, RANKS, work, ONE, repetitions=1)
    assert [each.measured.ranks for each in found.on_ranks] == list(RANKS)
    assert found.scaling.kind == "strong"
    nbytes = Digits().initial().nbytes
    for each, row in zip(found.on_ranks, found.scaling.rows, strict=True):
        assert each.apart == 0
        assert 0.8 < row.efficiency[0] <= 1 + 1e-9
        sent = 2 * (row.ranks - 1) / row.ranks * nbytes * STEPS
        assert abs(each.traffic.sent.mean() - sent) <= 0.01 * sent + 64 * STEPS


def test_real_ranks_go_through_the_same_harness(real):
    def on_real(ranks):
        return real(training, ranks)

    found = measure_distributed(on_real, (1, 2, 5), work, ONE, repetitions=2)
    for each in found.on_ranks:
        assert len(each.measured.seconds) == 2
        assert each.apart == 0
        assert (each.traffic.sent > 0).all() == (each.measured.ranks > 1)


def lonely(comm):
    """Nobody averages: every rank ends at weights of its own. Rank 0 has none."""
    return {"weights": np.full(3, float(comm.rank)) if comm.rank else None}


def test_ranks_that_do_not_agree_are_seen():
    base = Baseline(1, 1, (1.0,), "one rank")
    found = measure_distributed(
        lambda ranks: simulate(lambda comm: comm.work(seconds=1) or lonely(comm), ranks),
        (4,), lambda ranks: ranks, base, kind="weak", repetitions=1,
        weights=lambda result: result["weights"],
    )  # fmt: skip
    assert found.on_ranks[0].apart == 2
    assert found.scaling.rows[0].efficiency == (1, 1, 1)


def test_without_a_baseline_nothing_is_measured():
    with pytest.raises(ValueError, match="against what"):
        measure_distributed(lambda ranks: 1 / 0, (1, 2), work, None)
    with pytest.raises(ValueError, match="'strong' or 'weak'"):
        measure_distributed(on_simulated, (1,), work, ONE, kind="fast")
