"""Accuracies of a training that never stopped for them."""

import numpy as np

from ddl_class.commands.program_file import import_file
from ddl_class.doctor.finding import ROOT
from ddl_measure.to_accuracy import reached
from ddl_teach import simulate
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.paces import Even
from ddl_teach.training.trainer import train

Watched = import_file(ROOT / "labs/6_servers/program.py").Watched
DIGITS, STEPS, PAUSE = Digits(hidden=16), 40, 0.1


def watched(comm):
    task = Watched(DIGITS, comm.now)
    result = train(comm, task, Synchronous(), update=SGD(0.1), steps=STEPS, pace=Even(PAUSE))
    task.look(result.weights)
    return result, task.checkpoints(0.0, epochs=0.5)


def plain(comm):
    return train(comm, DIGITS, Synchronous(), update=SGD(0.1), steps=STEPS)


def test_a_watched_training_is_the_same_and_tells_when_it_was_how_good():
    [result, looks], other, _ = simulate(watched, 3).results
    [without, _, _] = simulate(plain, 3).results
    assert np.array_equal(result.weights, without.weights)
    assert len(looks) == STEPS + 1
    assert looks[0].accuracy == DIGITS.accuracy(DIGITS.initial()) < 0.3
    assert looks[-1].accuracy == DIGITS.accuracy(result.weights) > 0.7
    assert np.allclose([look.seconds for look in looks], PAUSE * np.arange(STEPS + 1), atol=1e-3)
    assert [look.epochs for look in looks] == [step / 2 for step in range(STEPS + 1)]
    assert 0 < reached(looks, 0.5, 2).seconds < STEPS * PAUSE
    assert other[1][-1].accuracy == looks[-1].accuracy
