"""Rules, rates and penalties that cannot be are refused where they are made."""

import math
from dataclasses import FrozenInstanceError
from functools import partial

import numpy as np
import pytest

from ddl_teach import simulate
from ddl_teach.training.consistency.consensus_admm import ConsensusADMM
from ddl_teach.training.consistency.rates import WarmUp
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.consistency.synchronous_kfac import SynchronousKFAC
from ddl_teach.training.optimizers import admm, kfac
from ddl_teach.training.optimizers.adagrad import AdaGrad
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.adam_8bit import Adam8Bit
from ddl_teach.training.optimizers.adamw import AdamW
from ddl_teach.training.optimizers.lamb import LAMB
from ddl_teach.training.optimizers.lars import LARS
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.muon import Muon
from ddl_teach.training.optimizers.nesterov import Nesterov
from ddl_teach.training.optimizers.rmsprop import RMSProp
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

LAYERS = (0, 4)
RULES = {
    "SGD": SGD, "Momentum": Momentum, "Nesterov": Nesterov, "AdaGrad": AdaGrad,
    "RMSProp": RMSProp, "Adam": Adam, "AdamW": AdamW, "LARS": partial(LARS, LAYERS),
    "LAMB": partial(LAMB, LAYERS),
}  # fmt: skip
NO_NUMBERS = ("a", None, True, 1 + 2j, (0.1,))
NO_AMOUNTS = (-1.0, -1, math.nan, math.inf, -math.inf, np.float32("nan"))
SHARES = {
    "Momentum": "momentum", "Nesterov": "momentum", "LARS": "momentum", "RMSProp": "memory",
}  # fmt: skip
AMOUNTS = [
    *((name, "rate") for name in RULES), *SHARES.items(), ("AdaGrad", "epsilon"),
    ("RMSProp", "epsilon"), ("Adam", "epsilon"), ("LAMB", "epsilon"), ("AdamW", "decay"),
    ("LARS", "decay"), ("LAMB", "decay"), ("LARS", "coefficient"),
]  # fmt: skip


@pytest.mark.parametrize(
    "make", [*RULES.values(), Adam8Bit, partial(Muon, ((2, 2),))], ids=[*RULES, "Adam8Bit", "Muon"]
)
def test_a_rule_cannot_be_changed_behind_the_back_of_who_shares_it(make):
    made = make()
    with pytest.raises(FrozenInstanceError):
        made.rate = 0.2
    assert {made: 1}[make()] == 1


@pytest.mark.parametrize("value", NO_AMOUNTS, ids=repr)
@pytest.mark.parametrize(("rule", "setting"), AMOUNTS)
def test_a_setting_that_is_negative_or_not_finite_is_refused(rule, setting, value):
    with pytest.raises(ValueError, match=f"{rule}: {setting} must be zero or more and "):
        RULES[rule](**{setting: value})


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize(("rule", "setting"), AMOUNTS)
def test_a_setting_that_is_no_number_is_refused(rule, setting, value):
    with pytest.raises(TypeError, match=f"{rule}: {setting} must be a number"):
        RULES[rule](**{setting: value})


@pytest.mark.parametrize(("rule", "setting"), SHARES.items())
def test_what_forgets_nothing_is_refused(rule, setting):
    with pytest.raises(ValueError, match=f"{setting} must be zero or more and less than 1, not 1"):
        RULES[rule](**{setting: 1.0})


@pytest.mark.parametrize("rule", ["Adam", "AdamW", "LAMB"])
@pytest.mark.parametrize("beta", [-0.1, 1, math.nan, math.inf])
@pytest.mark.parametrize("place", [0, 1])
def test_betas_are_two_shares(rule, beta, place):
    betas = (beta, 0.9) if place == 0 else (0.9, beta)
    with pytest.raises(ValueError, match="betas must be zero or more and less than 1"):
        RULES[rule](betas=betas)


@pytest.mark.parametrize("betas", [0.9, (0.9,), (0.9, 0.9, 0.9), "ab"], ids=repr)
def test_betas_are_two(betas):
    with pytest.raises(TypeError, match=r"betas are two numbers, as \(0.9, 0.999\), not"):
        Adam(betas=betas)


@pytest.mark.parametrize("rate", [0, 0.0, 2, np.float32(0.5), np.int64(1), WarmUp(0, 1, 3)])
@pytest.mark.parametrize("rule", RULES)
def test_what_can_be_a_rate_is_one(rule, rate):
    made = RULES[rule](rate=rate)
    made(np.ones(4), np.ones(4), [np.zeros(4) for _ in range(made.states)], 1)


@pytest.mark.parametrize("returned", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("rule", RULES)
def test_a_schedule_that_goes_wrong_is_refused_in_its_step(rule, returned):
    made = RULES[rule](rate=lambda step: 0.1 if step < 3 else returned)
    states = [np.zeros(4) for _ in range(made.states)]
    for step in (1, 2):
        made(np.ones(4), np.ones(4), states, step)
    with pytest.raises(ValueError, match=f"the rate in step 3 is {returned}"):
        made(np.ones(4), np.ones(4), states, 3)


@pytest.mark.parametrize("setting", ["start", "peak", "steps"])
def test_a_warm_up_that_cannot_be_is_refused(setting):
    with pytest.raises(ValueError, match=f"WarmUp: {setting} must be zero or more"):
        WarmUp(**{"start": 0.1, "peak": 1.0, "steps": 4} | {setting: -1})


@pytest.mark.parametrize("value", NO_AMOUNTS, ids=repr)
def test_penalties_and_dampings_that_cannot_be_are_refused(value):
    with pytest.raises(ValueError, match="ConsensusADMM: penalty must be above zero"):
        ConsensusADMM(penalty=value)
    with pytest.raises(ValueError, match="SynchronousKFAC: damping must be above zero"):
        SynchronousKFAC(damping=value)
    with pytest.raises(ValueError, match="damping must be zero or more"):
        kfac.step(kfac.Factors(np.eye(2), np.eye(2), np.eye(2)), value)
    with pytest.raises(ValueError, match="penalty must be above zero"):
        admm.consensus(None, None, np.ones(2), penalty=value, rounds=0)


def a_schedule_goes_wrong(comm):
    falls_below_zero = SGD(lambda step: 0.2 - 0.1 * step)
    train(comm, Digits(hidden=4), Synchronous(), update=falls_below_zero, steps=5)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_all_ranks_end_where_a_schedule_goes_wrong(ranks, real):
    for run in (simulate, real):
        with pytest.raises(Exception, match=r"the rate in step 3 is -0\.1"):
            run(a_schedule_goes_wrong, ranks)
