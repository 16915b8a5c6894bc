"""What a plain file sends and how long it takes is what its first lines say."""

import numpy as np
import pytest

from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.plain import (
    asynchronous_server,
    backup_workers,
    elastic_averaging,
    gossip,
    gpipe,
    local_sgd,
    message_driven,
    one_bit,
    one_f_one_b,
    parameter_server,
    qsgd,
    stale_synchronous,
    synchronous_sgd,
    top_k_error_feedback,
)

STEPS, RATE, SIZE = 6, 0.1, 40
BYTES = 8 * SIZE  # of the weights
from_two_ranks = pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])


def slope(weights, *_):
    return np.ones_like(weights)


# The training's settings, and the bytes that all ranks together send.
TRAININGS = {
    parameter_server: ((), lambda ranks: STEPS * 2 * (ranks - 1) * BYTES),
    asynchronous_server: ((), lambda ranks: STEPS * 2 * (ranks - 1) * BYTES),
    stale_synchronous: ((1,), lambda ranks: STEPS * 2 * (ranks - 1) * BYTES),
    # Each message begins with the number of the step.
    backup_workers: ((0,), lambda ranks: STEPS * 2 * (ranks - 1) * (BYTES + 8)),
    elastic_averaging: ((3, 0.1), lambda ranks: STEPS / 3 * 2 * (ranks - 1) * BYTES),
    synchronous_sgd: ((), lambda ranks: STEPS * 2 * (ranks - 1) * BYTES),
    local_sgd: ((3,), lambda ranks: STEPS / 3 * 2 * (ranks - 1) * BYTES),
    # One mean more than steps; on two ranks both neighbours are one.
    gossip: ((), lambda ranks: (STEPS + 1) * min(2, ranks - 1) * ranks * BYTES),
}


def trained(comm, module, settings):
    module.train(comm, np.ones(SIZE), slope, STEPS, RATE, *settings)
    return comm.ledger.bytes_sent


@from_two_ranks
@pytest.mark.parametrize("module", TRAININGS, ids=lambda module: module.__name__.split(".")[-1])
def test_a_training_sends_what_its_formula_says(ranks, module):
    settings, formula = TRAININGS[module]
    sent = simulate(trained, ranks, module=module, settings=settings).results
    assert sum(sent) == formula(ranks)


# The bytes that a rank sends to each other rank.
MESSAGES = {
    "top_k_error_feedback": (
        lambda comm, x: top_k_error_feedback.average(comm, x, np.zeros(SIZE), 3),
        3 * (8 + 8),
    ),
    "one_bit": (lambda comm, x: one_bit.average(comm, x, np.zeros(SIZE)), SIZE / 8 + 16),
    "qsgd": (lambda comm, x: qsgd.average(comm, x, 4, np.random.default_rng(0)), SIZE + 8),
}


def averaged(comm, name):
    MESSAGES[name][0](comm, np.random.default_rng(comm.rank).standard_normal(SIZE))
    return comm.ledger.bytes_sent


@from_two_ranks
@pytest.mark.parametrize("name", MESSAGES)
def test_a_compressed_message_is_as_long_as_its_formula_says(ranks, name):
    sent = simulate(averaged, ranks, name=name).results
    assert sent == [(ranks - 1) * MESSAGES[name][1]] * ranks


# -- pipelines ------------------------------------------------------------------------------

FREE = Uniform(latency=0.0, bandwidth=float("inf"))
F, B = 1.0, 2.0


def passed(comm, step, micro_batches, settings):
    def forward(m, x):
        comm.work(seconds=F)
        return x

    def backward(m, dy):
        comm.work(seconds=B)
        return np.zeros((1, 1))

    step(comm, [np.zeros((1, 1))] * micro_batches, 1, forward, backward, *settings)


def time_of(step, ranks, micro_batches, *settings):
    how = {"step": step, "micro_batches": micro_batches, "settings": settings}
    return simulate(passed, ranks, network=FREE, **how).time


@from_two_ranks
@pytest.mark.parametrize("micro_batches", [1, 4, 9])
@pytest.mark.parametrize("module", [gpipe, one_f_one_b], ids=["gpipe", "one_f_one_b"])
def test_a_pipeline_takes_as_long_as_its_formula_says(ranks, micro_batches, module):
    expected = (micro_batches + ranks - 1) * (F + B)
    assert time_of(module.step, ranks, micro_batches) == pytest.approx(expected, rel=1e-12)


@from_two_ranks
def test_one_micro_batch_in_flight_at_a_time_takes_all_round_trips(ranks):
    time = time_of(message_driven.step, ranks, 9, 1)
    assert time == pytest.approx(9 * ranks * (F + B), rel=1e-12)
    assert time_of(message_driven.step, ranks, 9, ranks) < time
