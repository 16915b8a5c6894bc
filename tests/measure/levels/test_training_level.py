"""Level 2: trainings by plain functions; rules that are not the same walk apart."""

import itertools

import numpy as np
import pytest
import torch

from ddl_measure.levels.torch_parts import torch_rule
from ddl_measure.levels.training_level import divergence, measure_training, rule_of
from ddl_measure.to_accuracy import reached
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits


class Learner:
    """Digits, and weights that change."""

    def __init__(self):
        self.task = Digits(batch=32)
        self.weights = self.task.initial()

    def learn(self, step):
        loss, gradient = self.task.gradient(self.weights, 0, 1, step)
        self.weights -= 0.3 * gradient
        return loss

    def accuracy(self):
        return self.task.accuracy(self.weights)


def test_the_digits_are_learnt_as_without_the_harness():
    plain, watched = Learner(), Learner()
    losses = [plain.learn(step) for step in range(90)]
    looks = itertools.count()
    found = measure_training(
        lambda step: step, watched.learn, watched.accuracy,
        steps=90, samples=32, epoch=1437, every=20, clock=lambda: float(next(looks)),
    )  # fmt: skip
    assert np.array_equal(plain.weights, watched.weights)
    assert found.losses == tuple(losses)
    assert [look.step for look in found.checkpoints] == [20, 40, 60, 80, 90]
    assert found.checkpoints[-1].accuracy == plain.accuracy() > 0.85
    assert found.checkpoints[0].epochs == 20 * 32 / 1437
    # Two looks at the clock for each event: a second each.
    assert [look.seconds for look in found.checkpoints] == [40, 80, 120, 160, 180]
    assert [look.evaluating for look in found.checkpoints] == [1, 2, 3, 4, 5]
    assert found.input_seconds == found.learn_seconds == (1,) * 90
    assert reached(found.checkpoints, 0.8).epochs <= found.checkpoints[-1].epochs


def gradient(weights, step):
    """Of a bowl that is steeper one way than another, shaken a little."""
    return weights * np.linspace(0.5, 2, len(weights)) + 0.01 * np.cos(step + weights)


class Forgetful(Adam):
    """Adam whose mean square decays as its mean does: it still trains."""

    def direction(self, gradient, states, step):
        return Adam(betas=(0.9, 0.9)).direction(gradient, states, step)


@pytest.mark.parametrize(
    ("ours", "torchs"),
    [
        (SGD(0.1), lambda: torch_rule(torch.optim.SGD, lr=0.1)),
        (Momentum(0.1, 0.9), lambda: torch_rule(torch.optim.SGD, lr=0.1, momentum=0.9)),
        (Adam(0.01), lambda: torch_rule(torch.optim.Adam, lr=0.01)),
    ],
    ids=["SGD", "Momentum", "Adam"],
)
def test_our_rules_stay_with_torchs(ours, torchs):
    weights = np.linspace(-1, 1, 9)
    apart = divergence(rule_of(ours, ours.states), torchs(), gradient, weights, 30)
    assert apart.shape == (30,)
    assert apart.max() < 1e-6


def test_a_rule_with_a_planted_bug_walks_away_though_it_trains():
    weights = np.linspace(-1, 1, 9)
    right, wrong = Adam(0.01), Forgetful(0.01)
    apart = divergence(rule_of(wrong, 2), rule_of(right, 2), gradient, weights, 30)
    assert apart[0] < 1e-12 < 1e-4 < apart[-1]
    walk, own = rule_of(wrong, 2), weights
    for step in range(300):
        own = walk(own, gradient(own, step))
    assert np.abs(own).max() < 0.05


@pytest.mark.parametrize("wrong", ["steps", "samples", "epoch", "every"])
def test_a_training_has_steps(wrong):
    asked = {"steps": 1, "samples": 1, "epoch": 1, "every": 1, wrong: 0}
    with pytest.raises(ValueError, match=f"{wrong}=0"):
        measure_training(abs, float, lambda: 0.5, **asked)


def test_an_accuracy_is_a_share():
    with pytest.raises(ValueError, match=r"accuracy\(\) gave 97.0 after step 2"):
        measure_training(abs, float, lambda: 97, steps=2, samples=1, epoch=1)
