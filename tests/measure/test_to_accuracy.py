"""Time and epochs to an accuracy: the first of so many looks in a row."""

import pytest

from ddl_measure.to_accuracy import Evaluation, reached


def training(*accuracies, pace=1.0):
    return [
        Evaluation(10 * look, look / 2, pace * look, 0.1 * look, accuracy)
        for look, accuracy in enumerate(accuracies, start=1)
    ]


def test_the_first_look_that_counts():
    looks = training(0.5, 0.9, 0.8, 0.9, 0.95, 0.7)
    assert reached(looks, 0.9) == looks[1]
    assert reached(looks, 0.9, in_a_row=2) == looks[3]
    assert reached(looks, 0.9, in_a_row=3) is None
    assert reached([], 0.9) is None


@pytest.mark.parametrize(("target", "in_a_row"), [(0, 1), (95, 1), (0.9, 0)])
def test_a_target_is_a_share(target, in_a_row):
    with pytest.raises(ValueError, match="a share of right answers"):
        reached(training(0.5), target, in_a_row)
