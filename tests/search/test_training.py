import warnings

import numpy as np
import pytest

from ddl_teach.search.training import DigitsTraining
from ddl_teach.training.consistency.states import pack
from ddl_teach.training.tasks.digits import Digits

SETTINGS = {"rate": 0.1, "momentum": 0.8, "hidden": 12, "batch": 7}


@pytest.mark.parametrize("cuts", [(12,), (5, 7), (4, 4, 4), (1, 11)], ids=str)
def test_where_a_training_is_cut_makes_no_difference(cuts):
    training = DigitsTraining()
    whole, loss = training(SETTINGS, None, 12, 3)
    state = None
    for steps in cuts:
        before = None if state is None else pack(state)
        after, loss_then = training(SETTINGS, state, steps, 3)
        # What it was given is as it was: another trial may go on from there.
        assert state is None or np.array_equal(pack(state), before)
        state = after
    assert loss_then == loss
    assert np.array_equal(pack(state), pack(whole))


def test_another_trial_ends_with_other_weights():
    training = DigitsTraining()
    whole, _ = training(SETTINGS, None, 12, 3)
    assert not np.array_equal(pack(training(SETTINGS, None, 12, 4)[0]), pack(whole))


def test_compared_on_one_part_and_tested_on_another():
    training = DigitsTraining(hidden=12)
    state, loss = training({"rate": 0.1}, None, 60, 0)
    assert loss == Digits(hidden=12, validation=True).loss(state["weights"])
    assert (
        training.test({"rate": 0.1}, state) == Digits(hidden=12).accuracy(state["weights"]) > 0.5
    )
    assert training({"rate": 0.1, "hidden": 12}, None, 60, 0)[1] == loss


def test_what_goes_wrong_shows_in_the_loss_and_wrong_settings_are_named():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not DigitsTraining()({"rate": 1e30}, None, 3, 0)[1] < 10
    for settings in ({}, {"rate": 0.1, "depth": 2}):
        with pytest.raises(ValueError, match=r"needs rate and knows momentum, hidden and batch"):
            DigitsTraining()(settings, None, 1, 0)
