"""Samplers: fair ones are biased as chance would have it, unfair ones are found out."""

import itertools

import numpy as np
import pytest

from ddl_measure.sampling import class_balance, sampler_latency
from ddl_teach.training.consistency.shares import share, share_of_a_kind
from ddl_teach.training.tasks.digits import Digits

SAMPLES, BATCH = 1200, 8
CLASSES = np.random.default_rng(1).choice(4, SAMPLES, p=[0.1, 0.2, 0.3, 0.4])


def fair(part, parts, step):
    return share(SAMPLES, BATCH, part, parts, step)


def skewed(part, parts, step):
    return share_of_a_kind(CLASSES, BATCH, part, parts, step)


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 5, 8])
def test_who_gets_what_is_counted(parts):
    steps = SAMPLES // BATCH // parts
    found = class_balance(fair, CLASSES, parts, steps)
    assert found.counts.sum() == found.seen.sum() == parts * steps * BATCH
    assert found.seen.max() == 1
    assert np.isclose(found.never_seen, 1 - parts * steps * BATCH / SAMPLES)
    # Of one pass without repetition the parts differ less than blind draws would.
    assert (found.bias < 2 * found.chance).all()
    assert parts > 1 or found.bias == pytest.approx(0)
    unfair = class_balance(skewed, CLASSES, parts, steps)
    assert parts == 1 or (unfair.bias > 5 * unfair.chance).all()


def test_chance_is_what_blind_draws_give():
    random = np.random.default_rng(0)
    found = class_balance(lambda *_: random.integers(0, SAMPLES, 50), CLASSES, 2000, 1)
    assert found.bias.mean() == pytest.approx(found.chance.mean(), rel=0.05)


def test_the_digits_sampler_of_one_kind_is_seen():
    answers = Digits().pictures.answers
    biases = [
        class_balance(Digits(skewed=skewed).places, answers, 4, 20).bias for skewed in (0, 1)
    ]
    assert biases[0].max() < 0.15 < 0.6 < biases[1].min()


def test_latency_is_that_of_each_call():
    looks = itertools.count()
    calls = []
    found = sampler_latency(calls.append, 3, clock=lambda: float(next(looks)))
    assert (found.tolist(), calls) == ([1, 1, 1], [0, 1, 2])
    with pytest.raises(ValueError, match="steps=0"):
        sampler_latency(calls.append, 0)


@pytest.mark.parametrize(
    ("classes", "places", "words"),
    [
        ([0.5], [0], "one whole number from 0"),
        ([-1, 0], [0], "one whole number from 0"),
        ([0, 1], [2], "step 0 places 2 to 2, but samples are 0 to 1"),
        ([0, 1], [0.5], "float64: places are whole numbers"),
        ([0, 1], [], "step 0 nothing at all"),
    ],
)
def test_what_is_no_sampler_is_refused(classes, places, words):
    with pytest.raises(ValueError, match=words):
        class_balance(lambda *_: np.array(places), np.array(classes), 1, 1)
    with pytest.raises(ValueError, match="parts=0"):
        class_balance(fair, CLASSES, 0, 1)
